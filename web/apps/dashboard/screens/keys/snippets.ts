import type { Snippet } from '#kit/components/values/code-well.tsx'
import type { NewKey } from './key-words.ts'

/** A first call that these scopes allow and that costs nothing. */
function firstCall(scopes: readonly string[]): { path: string; sdk: string } | undefined {
  if (scopes.includes('account:read')) return { path: '/ping', sdk: 'await shop.ping()' }
  if (scopes.includes('catalogue:read'))
    return { path: '/catalogue?limit=1', sdk: 'await shop.catalogue.list({ limit: 1 })' }
  if (scopes.includes('orders:read'))
    return { path: '/orders?limit=1', sdk: 'await shop.orders.list({ limit: 1 })' }
  if (scopes.includes('webhooks:read')) return { path: '/webhook', sdk: 'await shop.webhookEndpoint.get()' }
  return undefined
}

/** Ready to paste: with this key, this secret and a call that it may make. */
export function snippetsOf({ key, secret, base_url }: NewKey): readonly Snippet[] {
  const env = [
    '# Server only. Never in a browser, never in a repository.',
    `SHOPWIRE_BASE_URL=${base_url}`,
    `SHOPWIRE_API_KEY=${key.id}`,
    `SHOPWIRE_API_SECRET=${secret}`,
  ].join('\n')
  const call = firstCall(key.scopes)
  if (!call) return [{ name: '.env', code: env, language: 'env' }]
  const sdk = [
    "import { Shopwire } from '@shopwire/sdk'",
    '',
    '// Reads the three variables of the .env tab: node --env-file=.env first-call.mjs',
    'const shop = new Shopwire()',
    `console.log(${call.sdk})`,
  ].join('\n')
  const target = `${new URL(base_url).pathname}${call.path}`
  const curl = [
    `key=${key.id}`,
    `secret=${secret}`,
    `target='${target}'`,
    'ts=$(date +%s); nonce=$(openssl rand -hex 16)',
    "hash=$(printf '' | openssl dgst -sha256 -r | cut -d' ' -f1)",
    'sig=$(printf \'GET\\n%s\\n%s\\n%s\\n%s\' "$target" "$ts" "$nonce" "$hash" |',
    '  openssl dgst -sha256 -hmac "$secret" -r | cut -d\' \' -f1)',
    `curl "${new URL(base_url).origin}$target" \\`,
    '  -H "X-Api-Key: $key" -H "X-Api-Timestamp: $ts" \\',
    '  -H "X-Api-Nonce: $nonce" -H "X-Api-Signature: $sig"',
  ].join('\n')
  return [
    { name: '.env', code: env, language: 'env' },
    { name: 'SDK', code: sdk, language: 'ts' },
    { name: 'curl', code: curl, language: 'sh' },
  ]
}
