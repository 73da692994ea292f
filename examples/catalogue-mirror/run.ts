import { createServer } from 'node:http'
import { Shopwire } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/express'
import { Mirror } from './mirror.ts'

const {
  PORT = '3000',
  MIRROR_DB = 'catalogue.db',
  MIRROR_EVERY_S = '300',
  SHOPWIRE_WEBHOOK_SECRET,
  SHOPWIRE_WEBHOOK_SECRET_PREVIOUS,
} = process.env

const LOOK_AGAIN_MS = 2_000

const mirror = new Mirror(MIRROR_DB, new Shopwire())

const receive = webhook({
  secrets: [SHOPWIRE_WEBHOOK_SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
  // The event says that something changed, not what. It may arrive twice: a sync without changes is one small
  // request. The sync is not awaited here: a long one would exceed the store's timeout for the answer.
  onEvent: ({ event }) => {
    if (event !== 'catalogue.changed') return
    void sync('event')
    // The event may arrive slightly before the API shows the change. Then the first sync finds nothing, and this one does.
    setTimeout(() => void sync('event'), LOOK_AGAIN_MS)
  },
})

createServer((request, response) => {
  if (request.method !== 'POST' || request.url !== '/hooks') return void response.writeHead(404).end()
  void receive(request, response, (error) => {
    console.error(error)
    response.writeHead(500).end()
  })
}).listen(Number(PORT), () => console.log(`Waiting for events at http://localhost:${PORT}/hooks`))

// Events can be late or lost, and items also end without an event, at available_until.
setInterval(() => void sync('timer'), Number(MIRROR_EVERY_S) * 1_000)
await sync('start')

async function sync(why: string) {
  try {
    const changes = await mirror.sync()
    console.log(`${why}: ${changes.length} changes`)
    for (const change of changes) console.log(`  ${change}`)
  } catch (error) {
    // The table is unchanged; the timer tries again.
    console.error(`${why}: not synced:`, error)
  }
}
