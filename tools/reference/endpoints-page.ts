import { BASE_PATH, type Route, type RouteName, routes } from '@shopwire/contract'
import { headersSection } from './headers-section.ts'
import { limitsSection } from './limits-section.ts'
import { madeFrom, table } from './markdown.ts'

/** What an endpoint does, in one line. A route without words here does not compile. */
const WORDS: Readonly<Record<RouteName, string>> = {
  getStatus: 'Whether the store is open and healthy. Monitors may use HEAD.',
  getPing: 'The account of the key.',
  getBalance: 'What is left to spend, in cents.',
  getCatalogue: 'All items, with pages, filters and an entity tag.',
  getCatalogueItem: 'One item.',
  postQuote: 'What a cart costs now, line by line. Spends nothing.',
  postOrders: 'Buys the whole cart or nothing. 200 when this idempotency key bought before.',
  getOrders: 'All orders, newest first, without links.',
  getOrder: 'One order with its lines and links.',
  getWebhook: 'The endpoint and the state of its deliveries.',
  postWebhook: 'Sets or changes the endpoint. The first answer contains `secret`, which is shown once.',
  deleteWebhook: 'Stops deliveries.',
  postWebhookTest: 'Queues a `test` event. The body is `{}`.',
}

export function endpointsPage(): string {
  const all: readonly (Route & { name: RouteName })[] = routes
  const rows = all.map((route) => [nameOf(route), WORDS[route.name], scopeOf(route)])
  return `${madeFrom('contract/src and tools/reference')}
# Endpoints, headers, limits

${routes.length} endpoints, all under \`${BASE_PATH}\`.
<!-- portal: The [full reference](openapi:) has every field, made from the OpenAPI document. -->

${table(['Request', 'What it does', 'Scope'], rows)}

A field without a value is \`null\`; only \`secret\` and the name and prices of an unknown item in a quote may be left out.
Money is whole US cents, times are UTC with milliseconds (\`2026-11-15T05:37:58.145Z\`), ids are opaque strings.

A success is 200, that of a new order 201; catalogue reads may answer 304. [Errors](errors.md) says which endpoints have
which error.

${headersSection()}
${limitsSection()}
## Versions

Your code must ignore or accept what may be added to \`/v1\` at any time: endpoints, event types, error types for new
features, headers of answers, query parameters, and optional fields of requests, answers and events. The wording of a
\`message\` may change.

Any other change becomes \`/v2\`: removing a field, changing its type or meaning, a new value of an order's \`status\`,
another status for an error type, refusing what was accepted, other signatures or forms of ids. The
[changelog](../../CHANGELOG.md) has what changed.
`
}

function nameOf({ method, path }: Route): string {
  return `\`${method} ${BASE_PATH}${path}\``
}

function scopeOf({ scope, scopeWhenUrl }: Route): string {
  if (scope === null) return 'none'
  return scopeWhenUrl ? `\`${scope}\`, and \`${scopeWhenUrl}\` for a URL` : `\`${scope}\``
}
