import type { WebhookEvent } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/workers'
import { sqliteOnce } from '../once/sqlite.ts'

const port = Number(Deno.env.get('PORT') ?? 3000)

const receive = webhook({
  secrets: [Deno.env.get('SHOPWIRE_WEBHOOK_SECRET'), Deno.env.get('SHOPWIRE_WEBHOOK_SECRET_PREVIOUS')],
  once: sqliteOnce(Deno.env.get('EVENTS_DB') ?? 'events.db'),
  onEvent,
})

Deno.serve(
  { port, onListen: () => console.log(`Waiting for events at http://localhost:${port}/hooks`) },
  async (request) => {
    if (new URL(request.url).pathname !== '/hooks') return new Response(null, { status: 404 })
    return receive(request)
  },
)

/** An error here becomes a 500, and the store sends the event again. Links are not printed: whoever reads one can redeem it. */
function onEvent({ event, data }: WebhookEvent) {
  if ('order' in data) console.log(event, data.order.id, `links: ${data.order.links.length}`)
  else console.log(event, data)
}
