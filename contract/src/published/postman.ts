import { BASE_PATH, type Route, type RouteName, routes } from '../routes.ts'
import { type Json, nameOf } from './components.ts'
import { examples } from './examples.ts'
import { postmanSigning } from './postman-signing.ts'
import { routeTexts, type Tag, tagTexts } from './texts.ts'

/** A Postman collection (v2.1) of every route, which signs each request just before it is sent. */
export function postmanText(): string {
  const collection = {
    info: {
      name: 'Shopwire',
      description: about,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    item: (Object.keys(tagTexts) as Tag[]).map(folder),
    event: [script(postmanSigning(isPublic))],
    variable: variables,
  }
  return `${JSON.stringify(collection, null, 2)}\n`
}

const about = `Set \`key_id\` and \`secret\`, and send. \`base_url\` is that of an emulator (\`npx @shopwire/emulator\`) until you change it. Each request is signed by the collection's pre-request script.

**There is no sandbox: the requests in Orders that buy spend real money.** Keep \`secret\` out of anything you share: give it a
local value only, and never export it with the collection.`

const isPublic = (routes as readonly Route[])
  .filter(({ scope }) => scope === null)
  .map(({ method, path }) => `${method} ${BASE_PATH}${path}`)

const variables = [
  { key: 'base_url', type: 'string', value: `http://127.0.0.1:4010${BASE_PATH}` },
  { key: 'key_id', type: 'string', value: '' },
  { key: 'secret', type: 'secret', value: '' },
  { key: 'item_id', type: 'string', value: examples.Item.id },
  { key: 'order_id', type: 'string', value: examples.Order.id },
  {
    key: 'idempotency_key',
    type: 'string',
    value: '',
    description: 'One per purchase. Keep it for every retry of that purchase; a new one buys again.',
  },
]

function folder(tag: Tag): Json {
  const own = (routes as readonly Route[]).filter(({ name }) => routeTexts[name as RouteName].tag === tag)
  return { name: tag, description: tagTexts[tag], item: own.map(item) }
}

function item(route: Route): Json {
  const { summary, description } = routeTexts[route.name as RouteName]
  const spends = route.bucket === 'orders'
  return {
    name: spends ? `⚠ ${summary}` : summary,
    ...(spends && { event: [script(needsIdempotencyKey)] }),
    request: {
      method: route.method,
      description: spends ? `${spendsText}\n\n${description}` : description,
      header: [],
      url: url(route),
      ...(route.body && {
        body: {
          mode: 'raw',
          raw: JSON.stringify(body(route), null, 2),
          options: { raw: { language: 'json' } },
        },
      }),
    },
    response: [],
  }
}

const spendsText = `**SPENDS REAL MONEY.** Sending this buys \`item_id\` from the balance of the account. Set \`idempotency_key\` first, to a
value of your own for this one purchase. Sending again with the same key answers with the same order and charges nothing.`

const needsIdempotencyKey = `
if (!pm.variables.get('idempotency_key')) {
  throw new Error('This request spends real money. Set idempotency_key to a value of your own for this one purchase first.')
}`.trim()

/** The optional parameters are listed and disabled. */
function url({ path, query }: Route): Json {
  const shownPath = path.replace('{id}', path.startsWith('/orders') ? '{{order_id}}' : '{{item_id}}')
  const shown = query ? Object.entries(examples[nameOf(query)]) : []
  return {
    raw: `{{base_url}}${shownPath}`,
    host: ['{{base_url}}'],
    path: shownPath.slice(1).split('/'),
    ...(shown.length > 0 && {
      query: shown.map(([key, value]) => ({ key, value: String(value), disabled: true })),
    }),
  }
}

function body({ name, body: schema }: Route): unknown {
  const items = [{ id: '{{item_id}}', qty: 1 }]
  if (name === 'postQuote') return { items }
  if (name === 'postOrders') return { items, idempotency_key: '{{idempotency_key}}' }
  return examples[nameOf(schema)]
}

function script(text: string): Json {
  return { listen: 'prerequest', script: { type: 'text/javascript', exec: text.split('\n') } }
}
