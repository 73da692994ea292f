import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/**
 * What must never be written down, wherever it turns up in a log object: secrets, signatures, nonces that could be
 * replayed, gift links, and connection strings with passwords.
 */
const NEVER_LOGGED = [
  'secret',
  'password',
  'authorization',
  'cookie',
  'signature',
  'nonce',
  'links',
  'url',
  'connectionString',
  'body',
  'headers',
]

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: NEVER_LOGGED.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: '[redacted]',
    },
    serializers: { err: describeError },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** The error, its causes and their stacks; none of the fields a driver hangs on it, which may hold parameters. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { code } = error as { code?: unknown }
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  }
}
