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
import { madeFrom, table, wrapped } from './markdown.ts'

const SOURCE = 'contract/src/errors.ts and tools/reference/error-texts.ts'

/** Whether to send the request again: at the top of each section, and what it means. */
const AGAIN: Readonly<Record<Retry, readonly [again: string, meaning: string]>> = {
  no: ['no', 'The same request fails every time.'],
  after_change: ['once the cause is gone', 'The request is valid; something else has to change first.'],
  after_wait: ['after a wait', 'Wait as long as `Retry-After` says, or back off when it is absent.'],
  fresh_signature: ['at once', 'Nothing has to change but timestamp, nonce and signature.'],
}

/** The heading of a section is the type alone: the SDK links to it as an anchor. */
export function errorsPage(): string {
  const types = Object.keys(errorTypes) as ErrorType[]
  const rows = (Object.keys(AGAIN) as Retry[]).map((retry) => [
    ...AGAIN[retry],
    types
      .filter((type) => errorTypes[type].retry === retry)
      .map((type) => `[\`${type}\`](#${type})`)
      .join(', '),
  ])
  return `${madeFrom(SOURCE)}
# Errors

Every refusal has this form:

\`\`\`json
{"error": {"type": "price_changed", "message": "A price is not the expected one: …"}}
\`\`\`

Branch on \`type\`: it is stable and always has the same status. \`message\` is for people and may change. Log the
\`X-Request-Id\`, and quote it when you contact the store.

To send a request **again** means the same method, path and body with a new timestamp, nonce and signature. For an order
that includes the idempotency key and the cart, so a retry never buys twice.

${table(['Again?', 'Means', 'Types'], rows)}

${types.map(section).join('\n')}`
}

function section(type: ErrorType): string {
  const { status, retry } = errorTypes[type]
  const { when, todo } = errorTexts[type]
  return `## \`${type}\`

${wrapped(`**${status}**, ${where(type)}. Again: **${AGAIN[retry][0]}**.`)}

${list('When', when)}

${list('What to do', todo)}
`
}

function list(title: string, items: readonly string[]): string {
  const [first = '', ...others] = items
  if (others.length === 0) return wrapped(`**${title}:** ${first}`)
  return [`**${title}:**`, '', ...items.map((item) => wrapped(`- ${item}`, '  '))].join('\n')
}

function where(type: ErrorType): string {
  if (type === 'method_not_allowed') return 'any path'
  const all: readonly Route[] = routes
  const found = all.filter(({ errors }) => errors.includes(type))
  const names = found.map(({ method, path }) => `\`${method} ${BASE_PATH}${path}\``)
  if (found.length === all.length) return 'every endpoint'
  if (found.length === all.length - 1) return `every endpoint but \`GET ${BASE_PATH}/status\``
  const isUnrouted = (unroutedErrors as readonly ErrorType[]).includes(type)
  return [...names, ...(isUnrouted ? ['any path that does not exist'] : [])].join(', ')
}
