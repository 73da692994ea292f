import { routes } from '@shopwire/contract'
import { refuse } from '@shopwire/service/embedded'
import type { Fault, FaultName } from '../types.ts'
import { faultKinds, isFaultName, kindOf, type Param, type Stage } from './fault-kinds.ts'

/** A fault reserved for one request, order or event, so that one `times` is not used twice. */
export interface Taken {
  readonly name: FaultName
  readonly params: Readonly<Record<string, unknown>>
  /** Applies the fault. False when it was disarmed meanwhile: then it must not take effect. */
  fire(): boolean
  /** Gives the fault back unused. Does nothing after `fire`. */
  release(): void
}

interface Armed {
  readonly name: FaultName
  readonly on: string
  readonly account_id: string | undefined
  readonly params: Readonly<Record<string, unknown>>
  /** Infinity: until disarmed. */
  left: number
  taken: number
}

const ORDERS = 'POST /orders'
const TIMES_MAX = 1_000_000
const signedRoutes = routes
  .filter(({ scope }) => scope !== null)
  .map(({ method, path }) => `${method} ${path}`)

export type Faults = ReturnType<typeof createFaults>

/**
 * Which faults are armed, and what they apply to. At most one fault applies to a request, an order or an event: first
 * those armed for a number of times, in the order they were armed, then those armed until they are disarmed.
 */
export function createFaults(onChange: () => void) {
  let armed: Armed[] = []
  const hits = new Map<FaultName, number>()
  const lastParams = new Map<FaultName, Readonly<Record<string, unknown>>>()

  function describe(name: FaultName): Fault {
    const own = armed.filter((one) => one.name === name)
    const left = own.reduce((sum, one) => sum + one.left, 0)
    return {
      name,
      title: kindOf(name).title,
      armed: own.length > 0,
      times_left: own.length === 0 ? 0 : Number.isFinite(left) ? left : null,
      hits: hits.get(name) ?? 0,
      params: lastParams.get(name) ?? defaultsOf(name),
    }
  }

  function fire(one: Armed): boolean {
    if (!armed.includes(one)) return false
    one.left -= 1
    if (one.left === 0) armed = armed.filter((other) => other !== one)
    hits.set(one.name, (hits.get(one.name) ?? 0) + 1)
    onChange()
    return true
  }

  const names = () => Object.keys(faultKinds) as FaultName[]

  return {
    list: () => names().map(describe),
    describe,

    arm(wanted: unknown): Fault {
      const one = readRequest(wanted)
      // Arming it again until disarmed replaces the parameters.
      if (one.left === Number.POSITIVE_INFINITY) {
        armed = armed.filter(
          (other) =>
            !(other.name === one.name && other.on === one.on && other.account_id === one.account_id) ||
            Number.isFinite(other.left),
        )
      }
      armed.push(one)
      lastParams.set(one.name, {
        ...(kindOf(one.name).stage === 'request' && { on: one.on }),
        ...(one.account_id !== undefined && { account_id: one.account_id }),
        ...one.params,
      })
      onChange()
      return describe(one.name)
    },

    disarm(name?: FaultName, account_id?: string): void {
      armed = armed.filter(
        (one) =>
          (name !== undefined && one.name !== name) ||
          (account_id !== undefined && one.account_id !== account_id),
      )
      onChange()
    },

    /** Reserves the next fault for a request to this route, or for an order or event of this account. */
    take(stage: Stage, { account_id, route, fits = () => true }: TakeOptions): Taken | undefined {
      const candidates = armed.filter(
        (one) =>
          kindOf(one.name).stage === stage &&
          (one.account_id === undefined || one.account_id === account_id) &&
          (stage !== 'request' || one.on === '*' || one.on === route) &&
          one.left > one.taken &&
          fits(one),
      )
      const one = candidates.find(({ left }) => Number.isFinite(left)) ?? candidates[0]
      if (!one) return undefined
      one.taken += 1
      let isOpen = true
      const close = () => {
        const wasOpen = isOpen
        if (isOpen) one.taken -= 1
        isOpen = false
        return wasOpen
      }
      return {
        name: one.name,
        params: one.params,
        fire: () => close() && fire(one),
        release: () => void close(),
      }
    },

    /** A fault that applies for as long as it is armed. */
    active(name: 'clock_skew' | 'store_closed', account_id: string | undefined): ActiveFault | undefined {
      const one = armed.find(
        (other) => other.name === name && (other.account_id === undefined || other.account_id === account_id),
      )
      return one && { params: one.params, account_id: one.account_id, fire: () => fire(one) }
    },

    /** Whether it applies to all accounts. */
    isArmedForAll: (name: FaultName) =>
      armed.some((one) => one.name === name && one.account_id === undefined),
  }
}

export interface TakeOptions {
  readonly account_id: string | undefined
  readonly route?: string
  fits?(one: { readonly name: FaultName; readonly params: Readonly<Record<string, unknown>> }): boolean
}

export interface ActiveFault {
  readonly params: Readonly<Record<string, unknown>>
  readonly account_id: string | undefined
  fire(): boolean
}

function readRequest(wanted: unknown): Armed {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted))
    throw refuse('invalid_request', 'A fault is an object such as {"name": "lost_answer"}.')
  const { name, times, on, account_id, ...rest } = wanted as Record<string, unknown>
  if (!isFaultName(name)) {
    throw refuse(
      'invalid_request',
      `There is no fault ${JSON.stringify(name)}. The faults are ${Object.keys(faultKinds).join(', ')}.`,
    )
  }
  const kind = kindOf(name)
  const count = times ?? (kind.lasts ? 0 : 1)
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0 || count > TIMES_MAX)
    throw refuse('invalid_request', 'times is a whole number; 0 means until disarmed.')
  if (account_id !== undefined && typeof account_id !== 'string')
    throw refuse('invalid_request', 'account_id is the id of an account.')
  return {
    name,
    on: readOn(name, on),
    account_id,
    params: readParams(name, rest),
    left: count === 0 ? Number.POSITIVE_INFINITY : count,
    taken: 0,
  }
}

function readOn(name: FaultName, on: unknown): string {
  const { stage, onlyOrders } = kindOf(name)
  if (on === undefined) return ORDERS
  const known = stage === 'request' && !onlyOrders ? ['*', ...signedRoutes] : [ORDERS]
  const spelled = typeof on === 'string' ? on.replace(/^([A-Z]+) \/v1\//, '$1 /') : on
  if (typeof spelled === 'string' && known.includes(spelled)) return spelled
  throw refuse('invalid_request', `on is one of ${known.map((one) => `"${one}"`).join(', ')} for ${name}.`)
}

function readParams(name: FaultName, given: Record<string, unknown>): Record<string, unknown> {
  const { params } = kindOf(name)
  const unknown = Object.keys(given).filter((param) => !Object.hasOwn(params, param))
  if (unknown.length > 0) {
    const known = Object.keys(params)
    throw refuse(
      'invalid_request',
      `${name} does not take ${unknown.join(', ')}; ` +
        `besides times, on and account_id it takes ${known.length > 0 ? known.join(', ') : 'nothing'}.`,
    )
  }
  return Object.fromEntries(
    Object.entries(params).map(([param, rule]) => [param, readParam(param, rule, given[param])]),
  )
}

function readParam(name: string, rule: Param, value: unknown): unknown {
  if (value === undefined) return rule.fallback
  if (rule.type === 'boolean' && typeof value === 'boolean') return value
  if (rule.type === 'text' && typeof value === 'string' && rule.values.includes(value)) return value
  if (rule.type === 'integer' && typeof value === 'number' && Number.isInteger(value)) {
    if (value >= rule.min && value <= rule.max) return value
  }
  const rules = {
    boolean: 'true or false',
    text: rule.type === 'text' ? `one of ${rule.values.join(', ')}` : '',
    integer: rule.type === 'integer' ? `a whole number from ${rule.min} to ${rule.max}` : '',
  }
  throw refuse('invalid_request', `${name} is ${rules[rule.type]}.`)
}

function defaultsOf(name: FaultName): Record<string, unknown> {
  return readParams(name, {})
}
