export function money(cents) {
  const sign = cents < 0 ? '−' : ''
  const whole = Math.floor(Math.abs(cents) / 100).toLocaleString('en-US')
  return `${sign}$${whole}.${String(Math.abs(cents) % 100).padStart(2, '0')}`
}

export function count(n, one, many = `${one}s`) {
  return `${n} ${n === 1 ? one : many}`
}

export function duration(ms) {
  if (ms === null || ms === undefined) return ''
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

export function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Finds every gift link in an order or an event. */
export function linksIn(value, found = [], depth = 0) {
  if (typeof value !== 'object' || value === null || depth > 20) return found
  for (const [name, one] of Object.entries(value)) {
    if (name === 'links' && Array.isArray(one)) found.push(...one.filter((link) => typeof link === 'string'))
    else linksIn(one, found, depth + 1)
  }
  return found
}

/** Makes invisible characters visible. Line ends are rendered by the caller. */
export function visible(text) {
  return text
    .replaceAll('\r', '␍')
    .replaceAll('\t', '⇥')
    .replaceAll('\u0000', '␀')
    .replaceAll('\uFEFF', '␣BOM')
}

export function curlOf({ method = 'POST', url, headers = {}, body = '' }) {
  const lines = [`curl -X ${quoted(method)} ${quoted(url)}`]
  for (const [name, value] of Object.entries(headers)) {
    if (!/^(content-length|host|connection|transfer-encoding)$/i.test(name))
      lines.push(`  -H ${quoted(`${name}: ${value}`)}`)
  }
  if (body !== '') lines.push(`  --data-raw ${quoted(body)}`)
  return lines.join(' \\\n')
}

/** For a POSIX shell: between single quotes nothing is special but the single quote. */
function quoted(text) {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${String(text).replaceAll("'", `'\\''`)}'`
}

/** Ways to make the first call. `secret` is a separate placeholder, so that it can be hidden on the screen. */
export function firstCalls({ baseUrl, keyId, secret }) {
  const env = [
    `export SHOPWIRE_BASE_URL=${quoted(baseUrl)}`,
    `export SHOPWIRE_API_KEY=${quoted(keyId)}`,
    `export SHOPWIRE_API_SECRET=${quoted(secret)}`,
  ].join('\n')
  const path = `${new URL(baseUrl).pathname.replace(/\/$/, '')}/ping`
  return [
    {
      name: 'curl',
      text: `${env}
timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
hash=$(printf '' | openssl dgst -sha256 -r | cut -d' ' -f1)
signature=$(printf 'GET\\n${path}\\n%s\\n%s\\n%s' "$timestamp" "$nonce" "$hash" |
  openssl dgst -sha256 -hmac "$SHOPWIRE_API_SECRET" -r | cut -d' ' -f1)
curl "$SHOPWIRE_BASE_URL/ping" -H "X-Api-Key: $SHOPWIRE_API_KEY" \\
  -H "X-Api-Timestamp: $timestamp" -H "X-Api-Nonce: $nonce" \\
  -H "X-Api-Signature: $signature"`,
    },
    {
      name: 'Node',
      text: `// npm install @shopwire/sdk
import { Shopwire } from '@shopwire/sdk'

const shop = new Shopwire({
  baseUrl: ${JSON.stringify(baseUrl)},
  keyId: ${JSON.stringify(keyId)},
  secret: ${JSON.stringify(secret)},
})
console.log(await shop.ping())`,
    },
    { name: 'Command line', text: `${env}\nnpx @shopwire/cli ping` },
  ]
}

export function firstOrder({ baseUrl, keyId, secret }) {
  return `// npm install @shopwire/sdk
import { Shopwire } from '@shopwire/sdk'

const shop = new Shopwire({
  baseUrl: ${JSON.stringify(baseUrl)},
  keyId: ${JSON.stringify(keyId)},
  secret: ${JSON.stringify(secret)},
})
const { items } = await shop.catalogue.list({ limit: 20 })
const item = items.find(({ sellable }) => sellable)
const order = await shop.orders.create({
  items: [{ id: item.id, qty: 1, expected_price_cents: item.price_cents }],
  idempotencyKey: 'my-first-order',
})
console.log(order.id, order.status)`
}
