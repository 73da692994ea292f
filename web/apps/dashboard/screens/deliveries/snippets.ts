import type { Reply } from '../../api/client.ts'
import { deliveries } from '../../strings/deliveries.ts'

export type Delivery = Reply<'getDelivery'>
export type Attempt = Delivery['attempts'][number]

export const headerOf = ({ request_headers }: Attempt, name: string): string | undefined =>
  request_headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1]

/** Shell quoting: nothing inside single quotes is read, except the quote itself. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The request of an attempt as a command. Its links are masked, as everywhere. */
export function curlOf({ body, deliveries: sent }: Delivery, attempt: Attempt): string {
  const url = sent.find(({ endpoint_id }) => endpoint_id === attempt.endpoint_id)?.url ?? ''
  const skipped = ['host', 'content-length']
  const headers = attempt.request_headers
    .filter(([name]) => !skipped.includes(name.toLowerCase()))
    .map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\`)
  return [
    ...(body && body.masked_links > 0 ? [deliveries.panel.curlLinks] : []),
    deliveries.panel.curlOld,
    `curl -X POST ${quoted(url)} \\`,
    ...headers,
    `  --data-raw ${quoted(body?.text ?? '')}`,
  ].join('\n')
}

/** Run where the secret is: the dashboard neither has it nor asks for it. */
export function opensslOf(attempt: Attempt, event_id: string): string {
  return [
    '# body.json: the raw bytes that your server received',
    `printf '%s.%s.' ${headerOf(attempt, 'X-Webhook-Timestamp')} ${event_id} |`,
    '  cat - body.json |',
    '  openssl dgst -sha256 -hmac "$SHOPWIRE_WEBHOOK_SECRET" -r',
  ].join('\n')
}

export function shopwireOf(attempt: Attempt): string {
  const signed = attempt.request_headers.filter(([name]) => name.startsWith('X-Webhook-'))
  return [
    '# body.json: the raw bytes that your server received',
    "cat > headers.txt <<'END'",
    ...signed.map(([name, value]) => `${name}: ${value}`),
    'END',
    'shopwire webhook verify --file body.json --headers headers.txt --ignore-time',
  ].join('\n')
}

export const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
