import type { WebhookEvent } from '@shopwire/contract'
import { eventKinds } from '@shopwire/contract/published'
import { signWebhook, webhookHeaders } from '@shopwire/contract/signing'
import { madeFrom, wrapped } from './markdown.ts'

/** Shown on the page, so that a reader can check the signatures. It signs nothing else. */
const SECRET = 'whsec_this-one-is-only-for-the-documentation'

/** The page links what the contract can only name. */
const READING = 'Read the catalogue again'

export function eventsPage(): string {
  const sections = eventKinds().map(({ type, description, yours, usual }) => {
    const text = `${description} ${yours.replace(READING, `[${READING}](../guides/sync-the-catalogue.md)`)}`
    return `## \`${type}\`\n\n${wrapped(text)}\n\n${delivery(usual)}\n`
  })
  return `${madeFrom('tools/reference/events-page.ts')}
# Events

What your endpoint [receives](../guides/receive-webhooks.md): headers, then the body on one line. Line breaks are added
here; the signatures are over the body without them, with the secret \`${SECRET}\`.

New event types may appear: answer 200 to unknown ones. A member of \`data\` that an event does not use is left out.
Only tests and the examples of the dashboard have a \`data.message\`.

${sections.join('\n')}`
}

function delivery(event: WebhookEvent): string {
  const body = JSON.stringify(event)
  const timestamp = String(Math.ceil(Date.parse(event.created_at) / 1000))
  const signature = signWebhook(SECRET, { timestamp, id: event.id, body: Buffer.from(body) })
  return `\`\`\`http
POST /hooks/shopwire HTTP/1.1
Content-Type: application/json; charset=utf-8
${webhookHeaders.timestamp}: ${timestamp}
${webhookHeaders.id}: ${event.id}
${webhookHeaders.signature}: ${signature}

${JSON.stringify(event, null, 2)}
\`\`\``
}
