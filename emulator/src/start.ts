import { createServer } from 'node:net'
import { createActions } from './control/actions.ts'
import type { Control } from './control/routes.ts'
import { createControlServer } from './control/server.ts'
import { createStreams } from './control/stream.ts'
import { startDatabase } from './database/database.ts'
import { ACCOUNT_ID, KEY } from './database/seed.ts'
import { openStore } from './store/store.ts'
import type { Emulator, EmulatorOptions, Fault, Key } from './types.ts'

/** Starts an emulator: a private database, the service in this process, play money. */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = '127.0.0.1', port = 0, balanceCents = 25_000 } = options
  const { onProgress = () => {}, onDatabaseEnded = () => {} } = options
  if (port !== 0) await assertFree(port, host)
  const database = await startDatabase(options.data, onProgress, onDatabaseEnded)
  const stops: (() => Promise<void> | void)[] = [() => database.stop()]
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= runAll(stops)
    return stopping
  }
  try {
    onProgress('opening the store')
    let control: Control | undefined
    const store = await openStore({
      database,
      host,
      port,
      balanceCents,
      fulfilAfterMs: options.fulfilAfterMs ?? 0,
      requestsPerMinute: options.requestsPerMinute ?? 120,
      ordersPerMinute: options.ordersPerMinute ?? 20,
      logLevel: options.logLevel ?? 'silent',
      intercept: await createControlServer(() => control),
    })
    stops.push(() => store.stop())
    const streams = createStreams(store.journal)
    stops.push(() => streams.end())
    const actions = createActions(store, { balanceCents })
    if (options.webhook) await actions.setWebhook({ ...options.webhook })
    for (const fault of options.faults ?? []) store.faults.arm(fault)
    await store.settled()
    const url = `http://${nameOf(host)}:${await store.listen()}`
    const baseUrl = `${url}/v1`
    control = { store, actions, streams, baseUrl: () => baseUrl }
    return {
      ...handles(url),
      baseUrl,
      accountId: ACCOUNT_ID,
      key: KEY,
      databaseVersion: database.version,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The methods call the control interface over HTTP, as another program would. */
function handles(url: string): Pick<Emulator, 'url' | 'arm' | 'disarm' | 'createAccount' | 'control'> {
  async function control<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${url}/_emulator${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as { error?: { type: string; message: string } }
    if (!response.ok) throw new Error(`${method} ${path}: ${answer.error?.message ?? response.status}`)
    return answer as Answer
  }
  return {
    url,
    control,
    arm: (fault) => control<Fault>('POST', '/faults', fault),
    async disarm(name, { accountId } = {}) {
      const only = accountId === undefined ? '' : `?account_id=${encodeURIComponent(accountId)}`
      await control('DELETE', `/faults${name === undefined ? '' : `/${name}`}${only}`)
    },
    async createAccount({ name, balanceCents, scopes } = {}) {
      const made = await control<{ account_id: string; key: Key }>('POST', '/accounts', {
        ...(name !== undefined && { name }),
        ...(balanceCents !== undefined && { balance_cents: balanceCents }),
        ...(scopes !== undefined && { scopes }),
      })
      return { accountId: made.account_id, key: made.key }
    },
  }
}

/** The host name for URLs on this machine. */
function nameOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Another program uses the port. */
export class PortTaken extends Error {
  readonly port: number

  constructor(port: number) {
    super(`Port ${port} is in use by another program.`)
    this.name = 'PortTaken'
    this.port = port
  }
}

/** Checked before anything is started; a program that takes the port later is noticed when the store listens. */
function assertFree(port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortTaken(port) : error),
    )
    probe.listen(port, host, () => probe.close(() => resolve()))
  })
}

/** Stops in reverse order of starting. A failure does not keep the others from being stopped. */
async function runAll(stops: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = []
  for (const stop of stops.toReversed()) {
    try {
      await stop()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
