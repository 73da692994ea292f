import type { Snippet } from '#kit/components/values/code-well.tsx'
import type { Reply } from '../../api/client.ts'

type Line = Reply<'quoteCart'>['lines'][number]

/** The cart for a server: each line with the price that was shown, so that a changed one is refused and not charged. */
export function snippetsOf(lines: readonly Line[]): readonly Snippet[] {
  const items = lines.map(({ id, qty, unit_price_cents }) => ({
    id,
    qty,
    ...(unit_price_cents !== undefined && unit_price_cents > 0
      ? { expected_price_cents: unit_price_cents }
      : {}),
  }))
  return [
    { name: 'SDK', language: 'ts', what: 'SDK snippet', code: sdk(items) },
    { name: 'CLI', language: 'sh', what: 'commands', code: cli(items) },
    { name: 'curl', language: 'sh', what: 'curl command', code: curl(items) },
  ]
}

type Items = readonly { readonly id: string; readonly qty: number; readonly expected_price_cents?: number }[]

const sdk = (items: Items) => `import { Shopwire } from '@shopwire/sdk'

// SHOPWIRE_API_KEY, SHOPWIRE_API_SECRET and SHOPWIRE_BASE_URL are in the environment
const shop = new Shopwire()
const items = [
${items.map((item) => `  { ${fields(item)} },`).join('\n')}
]

const quote = await shop.quote({ items })
// Spends balance. Store the key before this line runs, and use it for every retry.
const order = await shop.orders.create({ items, idempotencyKey: 'purchase-1042' })`

const fields = (item: Items[number]) =>
  [
    `id: '${item.id}'`,
    `qty: ${item.qty}`,
    ...(item.expected_price_cents === undefined
      ? []
      : [`expected_price_cents: ${item.expected_price_cents}`]),
  ].join(', ')

function cli(items: Items): string {
  const options = items.map(
    ({ id, qty, expected_price_cents }) =>
      `  --item ${id}:${qty}${expected_price_cents === undefined ? '' : `@${expected_price_cents}`}`,
  )
  return [
    `shopwire quote \\\n${options.join(' \\\n')}`,
    '',
    '# Shows the quote and asks before it spends',
    `shopwire orders create --key purchase-1042 \\\n${options.join(' \\\n')}`,
  ].join('\n')
}

const curl = (items: Items) => `BODY='${JSON.stringify({ items })}'
TIME=$(date +%s)
NONCE=$(openssl rand -hex 16)
HASH=$(printf '%s' "$BODY" | openssl dgst -sha256 -r | cut -d' ' -f1)
# For trying, not for a server: others on this machine can see the command line of openssl
SIGNATURE=$(printf '%s\\n%s\\n%s\\n%s\\n%s' POST /v1/quote "$TIME" "$NONCE" "$HASH" |
  openssl dgst -sha256 -hmac "$SHOPWIRE_API_SECRET" -r | cut -d' ' -f1)
curl "$SHOPWIRE_BASE_URL/quote" --data-raw "$BODY" \\
  -H "X-Api-Key: $SHOPWIRE_API_KEY" -H "X-Api-Timestamp: $TIME" \\
  -H "X-Api-Nonce: $NONCE" -H "X-Api-Signature: $SIGNATURE"`
