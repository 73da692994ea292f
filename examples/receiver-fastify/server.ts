import type { WebhookEvent } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/fastify'
import Fastify from 'fastify'
import { sqliteOnce } from '../once/sqlite.ts'

const {
  PORT = '3000',
  EVENTS_DB = 'events.db',
  SHOPWIRE_WEBHOOK_SECRET,
  SHOPWIRE_WEBHOOK_SECRET_PREVIOUS,
} = process.env
const app = Fastify()

// The plugin has its own parser: this route gets raw bytes, all others keep their JSON parser.
await app.register(webhook, {
  path: '/hooks',
  secrets: [SHOPWIRE_WEBHOOK_SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
  once: sqliteOnce(EVENTS_DB),
  onEvent,
})

await app.listen({ port: Number(PORT), host: 'localhost' })
console.log(`Waiting for events at http://localhost:${PORT}/hooks`)

/** An error here becomes a 500, and the store sends the event again. Links are not printed: whoever reads one can redeem it. */
function onEvent({ event, data }: WebhookEvent) {
  if ('order' in data) console.log(event, data.order.id, `links: ${data.order.links.length}`)
  else console.log(event, data)
}
