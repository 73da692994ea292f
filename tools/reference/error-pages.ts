import {
  BASE_PATH,
  type ErrorType,
  errorTypes,
  type Retry,
  type Route,
  routes,
  unroutedErrors,
} from '@shopwire/contract'
import { errorTexts } from './error-texts.ts'
import { madeFrom, table } from './markdown.ts'

const SOURCE = 'contract/src/errors.ts and tools/reference/error-texts.ts'

/** In a table, and as the first words of the section. */
const SHORT: Readonly<Record<Retry, string>> = {
  no: 'no',
  after_change: 'once the cause is gone',
  after_wait: 'yes, after a wait',
  fresh_signature: 'yes, with a new signature',
}

const LONG: Readonly<Record<Retry, string>> = {
  no: '**No.** The same request fails every time.',
  after_change:
    '**Once the cause is gone.** The request is valid; something else has to change first. Then send it again with a new timestamp and nonce.',
  after_wait:
    '**Yes, after a wait.** Nothing has to change. Wait as long as `Retry-After` says, or back off when it is absent; then sign again.',
  fresh_signature: '**Yes, at once, with a new signature.** Use a new timestamp and nonce.',
}

export function errorPages(): { path: string; text: string }[] {
  const types = Object.keys(errorTypes) as ErrorType[]
  return [
    { path: 'docs/reference/errors/README.md', text: indexPage(types) },
    ...types.map((type) => ({ path: `docs/reference/errors/${type}.md`, text: errorPage(type) })),
  ]
}

function indexPage(types: ErrorType[]): string {
  const rows = types.map((type) => {
    const { status, meaning, retry } = errorTypes[type]
    return [String(status), `[\`${type}\`](${type}.md)`, meaning, SHORT[retry]]
  })
  return `${madeFrom(SOURCE)}
# Errors

Every refusal is \`{"error":{"type":"…","message":"…"}}\`. Branch on \`type\`: it is stable, and always has the same status. \`message\`
is for people, and may change. \`X-Request-Id\` is on every answer: keep it in your log, and quote it when you contact the store.

"Again?" means the same method, path and body with a new timestamp and nonce. For an order that includes the idempotency key and
the cart, so a retry never buys twice.

${table(['Status', '`type`', 'What it means', 'Again?'], rows)}
`
}

function errorPage(type: ErrorType): string {
  const { status, meaning, retry } = errorTypes[type]
  const { cause, fix, message, retry: note } = errorTexts[type]
  return `${madeFrom(SOURCE)}
# \`${type}\`

**${status}** · ${meaning}

\`\`\`json
${JSON.stringify({ error: { type, message } }, null, 2)}
\`\`\`

## Cause

${bullets(cause)}

## Fix

${bullets(fix)}

## Retry?

${LONG[retry]}${note ? `\n\n${note}` : ''}

## Where

${where(type)}

[All errors](README.md)
`
}

function bullets(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n')
}

function where(type: ErrorType): string {
  if (type === 'method_not_allowed') return 'Any path, with a method it does not take.'
  const all: readonly Route[] = routes
  const found = all.filter(({ errors }) => errors.includes(type))
  const names = found.map(({ method, path }) => `\`${method} ${BASE_PATH}${path}\``)
  if (found.length === all.length) return 'Every endpoint.'
  if (found.length === all.length - 1) return `Every signed endpoint (all but \`GET ${BASE_PATH}/status\`).`
  const unrouted = (unroutedErrors as readonly ErrorType[]).includes(type)
    ? ' And any path that does not exist.'
    : ''
  return `${names.join(', ')}.${unrouted}`
}
