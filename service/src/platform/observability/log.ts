import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/**
 * Field names that are never logged, at any depth of a log object: secrets, signatures, nonces that could be replayed,
 * gift links, and URLs and connection strings, which may hold passwords.
 */
const NEVER_LOGGED: ReadonlySet<string> = new Set([
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
])
const REDACTED = '[redacted]'
const DEPTH_MAX = 8
const BUFFERED_BYTES = 8_192
const STDOUT = 1

export function createLog(level: string, destination: DestinationStream = oneWritePerIteration()): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: isoTime,
      // Pino's own redaction walks every path of every name on every line; it was the most expensive part of a request.
      formatters: { level: (label) => ({ level: label }), log: (line) => withoutSecrets(line, 1) },
      serializers: { err: describeError },
    },
    destination,
  )
}

/** Most lines contain plain values under names that may be logged; those are passed on without a copy. */
function withoutSecrets(line: Record<string, unknown>, depth: number): Record<string, unknown> {
  let clean: Record<string, unknown> | undefined
  for (const [name, value] of Object.entries(line)) {
    const kept = NEVER_LOGGED.has(name) ? REDACTED : withoutSecretsInside(value, depth)
    if (kept === value) continue
    clean ??= { ...line }
    clean[name] = kept
  }
  return clean ?? line
}

function withoutSecretsInside(value: unknown, depth: number): unknown {
  // Errors have a serializer, which picks the fields that are logged.
  if (typeof value !== 'object' || value === null || value instanceof Error || value instanceof Date)
    return value
  if (depth >= DEPTH_MAX) return REDACTED
  if (Array.isArray(value)) return value.map((entry) => withoutSecretsInside(entry, depth + 1))
  return withoutSecrets(value as Record<string, unknown>, depth + 1)
}

/** The error, its causes and their stacks; no other field that a driver adds, because it may hold parameters. */
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

/** Many lines share a millisecond; its text is built once. */
function isoTime(): string {
  const nowMs = Date.now()
  if (nowMs !== lastTime.ms) lastTime = { ms: nowMs, text: `,"time":"${new Date(nowMs).toISOString()}"` }
  return lastTime.text
}
let lastTime = { ms: Number.NaN, text: '' }

/** The lines of one iteration of the event loop are written together. */
function oneWritePerIteration(): DestinationStream {
  const out = pino.destination({ dest: STDOUT, sync: true, minLength: BUFFERED_BYTES })
  let isPlanned = false
  process.on('exit', () => out.flushSync())
  return {
    write(line) {
      out.write(line)
      if (isPlanned) return
      isPlanned = true
      setImmediate(() => {
        isPlanned = false
        // Not flushSync, which also waits for the disk.
        out.flush()
      })
    },
  }
}
