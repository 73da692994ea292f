import type { WebhookEvent } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/next'
import { sqliteOnce } from '../../once.ts'

const { EVENTS_DB = 'events.db', SHOPWIRE_WEBHOOK_SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS } = process.env

export const POST = webhook({
  secrets: [SHOPWIRE_WEBHOOK_SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
  once: sqliteOnce(EVENTS_DB),
  onEvent,
})

/** An error here becomes a 500, and the store sends the event again. Links are not printed: whoever reads one can redeem it. */
function onEvent({ event, data }: WebhookEvent) {
  if ('order' in data) console.log(event, data.order.id, `links: ${data.order.links.length}`)
  else console.log(event, data)
}
