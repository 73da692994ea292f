import type { WebhookEvent } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/workers'
import { type D1, d1Once } from './once.ts'

interface Env {
  SHOPWIRE_WEBHOOK_SECRET: string
  SHOPWIRE_WEBHOOK_SECRET_PREVIOUS?: string
  DB: D1
}

export default {
  fetch: webhook<Env>({
    secrets: (env) => [env.SHOPWIRE_WEBHOOK_SECRET, env.SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
    once: (env) => d1Once(env.DB),
    onEvent,
  }),
}

/** An error here becomes a 500, and the store sends the event again. Links are not printed: whoever reads one can redeem it. */
function onEvent({ event, data }: WebhookEvent) {
  if ('order' in data) console.log(event, data.order.id, `links: ${data.order.links.length}`)
  else console.log(event, data)
}
