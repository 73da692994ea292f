import { parseArgs } from 'node:util'
import type { EmulatorOptions, FaultName, FaultRequest } from './types.ts'

export interface Arguments {
  readonly options: EmulatorOptions
  readonly envFile: string | undefined
  readonly isJson: boolean
  readonly isHelp: boolean
  readonly isVersion: boolean
}

/** Something on the command line that cannot be meant. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError'
}

export const PORT_DEFAULT = 4010

/** The oldest that undici, which delivers webhooks, runs on. */
export const NODE_MIN = [22, 19] as const

/** What to say when this Node is too old. npm only warns, and what comes later ends in somebody else's stack trace. */
export function whyNotThisNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return undefined
  return `The emulator needs Node ${NODE_MIN.join('.')} or newer, and this is ${version}.`
}

export const HELP = `shopwire-emulator: a Shopwire store on this machine, with play money and switches for what can go wrong.

  --port 4010, --host 127.0.0.1     where it answers
  --data FOLDER                     keeps the data there; without it everything is thrown away
  --balance 250.00                  what the account has at first
  --webhook URL                     an endpoint from the start, such as http://localhost:3000/webhooks
  --webhook-secret SECRET           its secret; made up otherwise
  --fulfil-after 0ms                how long an order stays paid: 500ms, 5s, 2m
  --requests-per-minute 120         the two limits
  --orders-per-minute 20
  --fault NAME[:key=value,…]        a fault from the start, such as lost_answer or slow_answer:ms=3000,times=0
  --write-env FILE                  writes the key there, for node --env-file
  --json                            the ready line as one JSON object
  --log LEVEL                       the store's own log: debug, info, warn, error
  --version, --help
`

const FLAGS = {
  port: { type: 'string' },
  host: { type: 'string' },
  data: { type: 'string' },
  balance: { type: 'string' },
  webhook: { type: 'string' },
  'webhook-secret': { type: 'string' },
  'fulfil-after': { type: 'string' },
  'requests-per-minute': { type: 'string' },
  'orders-per-minute': { type: 'string' },
  fault: { type: 'string', multiple: true },
  // Not --env-file: Node takes that for its own wherever it stands, and ends when the file is not there yet.
  'write-env': { type: 'string' },
  json: { type: 'boolean' },
  log: { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

export function readArguments(args: readonly string[]): Arguments {
  const { values } = parse(args)
  const webhook = values.webhook
  if (webhook === undefined && values['webhook-secret'] !== undefined)
    throw new ArgumentError('--webhook-secret needs --webhook.')
  // As of a variable that is not set: it would be taken for the folder one is in.
  if (values.data === '') throw new ArgumentError('--data needs the name of a folder.')
  return {
    options: {
      port: values.port === undefined ? PORT_DEFAULT : integer('--port', values.port, 0, 65_535),
      ...(values.host !== undefined && { host: values.host }),
      ...(values.data !== undefined && { data: values.data }),
      ...(values.balance !== undefined && { balanceCents: cents(values.balance) }),
      ...(webhook !== undefined && {
        webhook: {
          url: webhook,
          ...(values['webhook-secret'] !== undefined && { secret: values['webhook-secret'] }),
        },
      }),
      ...(values['fulfil-after'] !== undefined && { fulfilAfterMs: duration(values['fulfil-after']) }),
      ...(values['requests-per-minute'] !== undefined && {
        requestsPerMinute: integer('--requests-per-minute', values['requests-per-minute'], 1, 100_000_000),
      }),
      ...(values['orders-per-minute'] !== undefined && {
        ordersPerMinute: integer('--orders-per-minute', values['orders-per-minute'], 1, 100_000_000),
      }),
      faults: (values.fault ?? []).map(fault),
      ...(values.log !== undefined && { logLevel: level(values.log) }),
    },
    envFile: values['write-env'],
    isJson: values.json ?? false,
    isHelp: values.help ?? false,
    isVersion: values.version ?? false,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS })
  } catch (error) {
    throw new ArgumentError((error as Error).message)
  }
}

function integer(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new ArgumentError(`${name} is a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`)
}

function cents(text: string): number {
  const [, dollars, rest = '0'] = /^\$?(\d{1,8})(?:\.(\d{1,2}))?$/.exec(text) ?? []
  if (dollars === undefined)
    throw new ArgumentError(`--balance is an amount such as 250.00, not ${JSON.stringify(text)}.`)
  return Number(dollars) * 100 + Number(rest.padEnd(2, '0'))
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

function duration(text: string): number {
  const [, count, unit = 'ms'] = /^(\d{1,9})(ms|s|m|h)?$/.exec(text) ?? []
  if (count === undefined)
    throw new ArgumentError(`--fulfil-after is a time such as 500ms, 5s or 2m, not ${JSON.stringify(text)}.`)
  return Number(count) * UNITS[unit as keyof typeof UNITS]
}

/** `slow_answer:ms=3000,on=*`. What a fault takes is checked where it is armed. */
function fault(text: string): FaultRequest {
  const colon = text.indexOf(':')
  const name = colon < 0 ? text : text.slice(0, colon)
  const pairs = colon < 0 || colon === text.length - 1 ? [] : text.slice(colon + 1).split(',')
  const params = pairs.map((pair) => {
    const equals = pair.indexOf('=')
    if (equals < 1) throw new ArgumentError(`--fault ${text}: ${JSON.stringify(pair)} is not key=value.`)
    return [pair.slice(0, equals), plain(pair.slice(equals + 1))]
  })
  return { name: name as FaultName, ...Object.fromEntries(params) }
}

function plain(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

function level(text: string): (typeof LEVELS)[number] {
  const found = LEVELS.find((one) => one === text)
  if (!found) throw new ArgumentError(`--log is one of ${LEVELS.join(', ')}.`)
  return found
}
