/** What a value has to look like, by the interface. A rule returns what is wrong, or nothing. */
export type Rule = (value: unknown, at: string) => string | undefined

const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 120) ?? 'nothing'
const rule =
  (what: string, holds: (value: unknown) => boolean): Rule =>
  (value, at) =>
    holds(value) ? undefined : `${at} should be ${what}, got ${shown(value)}`

export const string = rule('a string', (value) => typeof value === 'string')
export const text = rule(
  'a string with something in it',
  (value) => typeof value === 'string' && value !== '',
)
export const boolean = rule('true or false', (value) => typeof value === 'boolean')
export const count = rule(
  'an integer of 0 or more',
  (value) => Number.isInteger(value) && (value as number) >= 0,
)
export const dateTime = rule(
  'a moment in UTC with milliseconds and Z',
  (value) =>
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
    !Number.isNaN(Date.parse(value)),
)
export const uri = rule('an absolute URI', (value) => typeof value === 'string' && URL.canParse(value))
export const matching = (pattern: RegExp) =>
  rule(`a string like ${pattern.source}`, (value) => typeof value === 'string' && pattern.test(value))
export const between = (min: number, max: number) =>
  rule(
    `an integer from ${min} to ${max}`,
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
  )
export const oneOf = (...values: readonly unknown[]) =>
  rule(values.map(shown).join(' or '), (value) => values.includes(value))
export const nullOr =
  (inner: Rule): Rule =>
  (value, at) =>
    value === null ? undefined : inner(value, at)
export const arrayOf =
  (inner: Rule): Rule =>
  (value, at) => {
    if (!Array.isArray(value)) return `${at} should be an array, got ${shown(value)}`
    for (const [n, entry] of value.entries()) {
      const wrong = inner(entry, `${at}[${n}]`)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }
/** An object with these members, perhaps those, and no others. */
export const closed =
  (members: Record<string, Rule>, optional: Record<string, Rule> = {}): Rule =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return `${at} should be an object, got ${shown(value)}`
    }
    const object = value as Record<string, unknown>
    for (const name of Object.keys(members)) {
      if (!(name in object)) return `${at} should have "${name}", got only ${Object.keys(object).join(', ')}`
    }
    for (const [name, member] of Object.entries(object)) {
      const inner = members[name] ?? optional[name]
      if (!inner) return `${at} should have no "${name}", got ${shown(member)}`
      const wrong = inner(member, `${at}.${name}`)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }

export const itemTypes = ['decoration', 'effect', 'nameplate', 'frame', 'bundle'] as const
const usd = oneOf('USD')

export const item = closed({
  id: string,
  name: string,
  type: oneOf(...itemTypes),
  collection: string,
  price_cents: count,
  currency: usd,
  image: nullOr(uri),
  stock: oneOf(null),
  sellable: boolean,
  available_until: nullOr(dateTime),
})
export const cataloguePage = closed({
  items: arrayOf(item),
  count,
  total: count,
  limit: count,
  offset: count,
})
export const quote = closed({
  ok: boolean,
  currency: usd,
  total_cents: count,
  lines: arrayOf(
    closed(
      { id: string, qty: between(1, 10), status: oneOf('ok', 'price_changed', 'sold_out') },
      { name: string, unit_price_cents: count, line_total_cents: count },
    ),
  ),
})
const summaryFields = {
  id: text,
  status: oneOf('paid', 'delivered', 'cancelled'),
  currency: usd,
  total_cents: count,
  created_at: dateTime,
}
export const order = closed({
  ...summaryFields,
  delivered_at: nullOr(dateTime),
  lines: arrayOf(closed({ id: string, name: string, qty: between(1, 10), unit_price_cents: count })),
  links: arrayOf(uri),
})
export const ordersPage = closed({
  orders: arrayOf(closed(summaryFields)),
  total: count,
  limit: count,
  offset: count,
})
export const balance = closed({ balance_cents: count, currency: usd })
export const serviceStatus = closed({
  status: oneOf('operational', 'degraded'),
  api: oneOf('up', 'unavailable'),
  store: oneOf('open', 'closed'),
  queue: count,
  updated: dateTime,
})
export const ping = closed({ ok: oneOf(true), name: string, status: string, account_status: string })
const healthFields = {
  webhook_url: nullOr(uri),
  pending: count,
  failed: count,
  last_delivered_at: nullOr(dateTime),
  last_failure_at: nullOr(dateTime),
  last_error: nullOr(string),
}
export const webhookHealth = closed(healthFields)
export const webhookConfiguration = closed(healthFields, { secret: text })
export const webhookTest = closed({ ok: oneOf(true), queued: oneOf(true) })
export const errorBody = closed({ error: closed({ type: text, message: text }) })
export const webhookEvent = closed({
  id: text,
  event: oneOf('order.accepted', 'order.delivered', 'order.cancelled', 'catalogue.changed', 'test'),
  created_at: dateTime,
  data: closed({}, { order, revision: string, refresh: boolean, message: string }),
})
