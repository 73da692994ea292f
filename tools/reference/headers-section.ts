import { webhookHeaders } from '@shopwire/contract'
import { table } from './markdown.ts'

/** A header of the contract without words here does not compile. */
const WEBHOOK: Readonly<Record<keyof typeof webhookHeaders, readonly [form: string, meaning: string]>> = {
  timestamp: ['ten digits', 'Unix seconds of this attempt'],
  id: ['`evt_<26 characters>`', 'the id of the event, as in the body; the same in every attempt'],
  signature: ['64 lower-case hex characters', 'HMAC-SHA256 of timestamp, period, id, period, raw body'],
  previousSignature: [
    '64 lower-case hex characters',
    'the same with the secret before the last rotation, for 24 hours',
  ],
}

const ANSWER: readonly (readonly string[])[] = [
  ['`X-Request-Id`', 'every answer', '`req_…`; quote it when you contact the store'],
  ['`Date`', 'every answer', "the store's clock"],
  ['`Cache-Control`', 'every answer', '`no-store`; on catalogue reads `private, no-cache`'],
  ['`X-Content-Type-Options`', 'every answer', '`nosniff`'],
  [
    '`RateLimit-Policy`, `RateLimit`',
    'signed answers; not on 401, 408, 413 and a 503 under load',
    '[the limits in force, and what is left](../guides/sign-a-request.md#rate-limits)',
  ],
  ['`Retry-After`', '429 and 503', 'whole seconds to wait'],
  ['`Allow`', '405', 'the methods this path takes'],
  ['`ETag`', 'catalogue reads', 'send it back as `If-None-Match`; 304 while nothing has changed'],
  ['`Idempotent-Replayed`', 'an order bought earlier with this key', '`true`'],
]

/** Of docs/reference/endpoints.md. */
export function headersSection(): string {
  return `## Headers

### Of answers

${table(['Header', 'On', 'Meaning'], ANSWER)}

### Of webhooks

Besides \`Content-Type: application/json; charset=utf-8\` and \`User-Agent: Shopwire-Webhooks/1\`:

${table(['Header', 'Form', 'Meaning'], rows(webhookHeaders, WEBHOOK))}
`
}

function rows<Name extends string>(
  names: Readonly<Record<Name, string>>,
  words: Readonly<Record<Name, readonly [string, string]>>,
): string[][] {
  return (Object.keys(names) as Name[]).map((name) => [`\`${names[name]}\``, ...words[name]])
}
