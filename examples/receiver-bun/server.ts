import type { WebhookEvent } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/workers'
import { sqliteOnce } from '../once/sqlite.ts'

const {
  PORT = '3000',
  EVENTS_DB = 'events.db',
  SHOPWIRE_WEBHOOK_SECRET,
  SHOPWIRE_WEBHOOK_SECRET_PREVIOUS,
} = process.env

const receive = webhook({
  secrets: [SHOPWIRE_WEBHOOK_SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
  once: sqliteOnce(EVENTS_DB),
  onEvent,
})

Bun.serve({
  port: Number(PORT),
  routes: { '/hooks': (request) => receive(request) },
  fetch: () => new Response(null, { status: 404 }),
})
console.log(`Waiting for events at http://localhost:${PORT}/hooks`)

/** An error here becomes a 500, and the store sends the event again. Links are not printed: whoever reads one can redeem it. */
function onEvent({ event, data }: WebhookEvent) {
  if ('order' in data) console.log(event, data.order.id, `links: ${data.order.links.length}`)
  else console.log(event, data)
}
