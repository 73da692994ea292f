import { serve } from '@hono/node-server'
import type { WebhookEvent } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/hono'
import { Hono } from 'hono'
import { sqliteOnce } from '../once/sqlite.ts'

const {
  PORT = '3000',
  EVENTS_DB = 'events.db',
  SHOPWIRE_WEBHOOK_SECRET,
  SHOPWIRE_WEBHOOK_SECRET_PREVIOUS,
} = process.env
const app = new Hono()

app.post(
  '/hooks',
  webhook({
    secrets: [SHOPWIRE_WEBHOOK_SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
    once: sqliteOnce(EVENTS_DB),
    onEvent,
  }),
)

serve({ fetch: app.fetch, port: Number(PORT) }, () =>
  console.log(`Waiting for events at http://localhost:${PORT}/hooks`),
)

/** An error here becomes a 500, and the store sends the event again. Links are not printed: whoever reads one can redeem it. */
function onEvent({ event, data }: WebhookEvent) {
  if ('order' in data) console.log(event, data.order.id, `links: ${data.order.links.length}`)
  else console.log(event, data)
}
