import { createServer } from 'node:http'
import { Shopwire } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/express'
import { Purchases } from './purchases.ts'
import { Storefront } from './storefront.ts'
import { Terminal } from './terminal.ts'

const {
  PORT = '3000',
  CHAT_DB = 'chat.db',
  SWEEP_EVERY_S = '30',
  SHOPWIRE_WEBHOOK_SECRET,
  SHOPWIRE_WEBHOOK_SECRET_PREVIOUS,
} = process.env

const storefront = new Storefront(new Terminal(), new Shopwire(), new Purchases(CHAT_DB))

const receive = webhook({
  secrets: [SHOPWIRE_WEBHOOK_SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
  // Handled events need not be stored: a purchase only moves forward, so a duplicate changes nothing.
  onEvent: (event) => storefront.onEvent(event),
})
const server = createServer((request, response) => {
  if (request.method !== 'POST' || request.url !== '/hooks') return void response.writeHead(404).end()
  void receive(request, response, (error) => {
    console.error(error)
    response.writeHead(500).end()
  })
}).listen(Number(PORT))

for (const { key, user, state } of storefront.doubtful()) {
  console.error(`${key}: interrupted while ${state}; check whether @${user} got the message`)
}
await storefront.sweep()
const timer = setInterval(() => void storefront.sweep(), Number(SWEEP_EVERY_S) * 1_000)

console.log('Say /shop. Ctrl-D ends it.')
await storefront.run()
clearInterval(timer)
server.close()
