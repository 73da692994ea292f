import { readFileSync } from 'node:fs'
import { poolConnections } from '@shopwire/test-kit/proxies/pgbouncer'
import { type Relay, startRelay } from '@shopwire/test-kit/proxies/relay'
import {
  type Certificate,
  createAuthority,
  isInPublicNetwork,
  PUBLIC_ADDRESSES,
} from '@shopwire/test-kit/servers'
import { type ApiProcess, ageMemory, createOperator, startSystem } from '@shopwire/test-kit/systems'
import type { Fixtures, Key } from './fixtures.ts'
import { furnish } from './furnish.ts'
import { startReceiver } from './receiver.ts'

export const stores = ['postgres', 'redis'] as const
export type Store = (typeof stores)[number]

const APIS = 2
/** For the admin command on a busy machine; the processes keep the default. */
const PATIENT_MS = '5000'
/** The public network gives this machine that address. */
const RECEIVER = { host: PUBLIC_ADDRESSES[0], port: 8443 }

export interface PrivateOptions {
  readonly buyers?: number
  /** Through PgBouncer. */
  readonly isPooled?: boolean
}

export interface PrivateSystem {
  /** With that admission store; API processes with the other one are ended first. The address ends in /v1. */
  on(store: Store): Promise<{ url: string; fixtures: Fixtures }>
  /** Certificate and key of the receiver, for a proxy in front of it, and the authority that issued them. */
  readonly certificate: (Certificate & { readonly ca: string }) | undefined
  /** All buyers. */
  readonly keys: readonly Key[]
  stop(): Promise<void>
}

/** A whole installation with items, links and accounts. It has the default settings: the limits that are checked are the real ones. */
export async function startPrivateSystem({
  buyers,
  isPooled = false,
}: PrivateOptions = {}): Promise<PrivateSystem> {
  // Events go to public addresses only, so without the public network there is nowhere to send them to.
  const authority = isInPublicNetwork() ? await createAuthority() : undefined
  const certificate = authority && {
    ...(await authority.issue(`IP:${RECEIVER.host}`)),
    ca: readFileSync(authority.file, 'utf8'),
  }
  const system = await startSystem({
    admission: 'redis',
    apis: 0,
    settings: authority ? { NODE_EXTRA_CA_CERTS: authority.file } : {},
  })
  const operator = createOperator(() => ({
    ...system.settingsOf('operator'),
    SHOPWIRE_REDIS_TIMEOUT_MS: PATIENT_MS,
  }))
  const furnished = await furnish(operator, buyers)
  // Not before: forty commands at once wait for the eight sessions of their login longer than PgBouncer lets them.
  const pgbouncer = isPooled ? await poolConnections(system) : undefined
  await system.startWorker()
  const receiver =
    certificate &&
    (await startReceiver({ ...RECEIVER, ...certificate, url: `https://${RECEIVER.host}:${RECEIVER.port}` }))
  const fixtures = { ...furnished, ...(receiver && { receiver }) }
  let running: { store: Store; at: Promise<{ url: string; fixtures: Fixtures }> } | undefined
  let apis: ApiProcess[] = []
  let balancer: Relay | undefined
  const begin = async (admission: Store) => {
    // One store at a time: a revocation fails while processes use another admission store than the command.
    await Promise.all(apis.map((api) => api.kill('SIGKILL')))
    await system.query('delete from admission_in_use')
    system.settings = { ...system.settings, SHOPWIRE_ADMISSION: admission }
    apis = await Promise.all(Array.from({ length: APIS }, () => system.startApi()))
    await ageMemory(system)
    await balancer?.close()
    balancer = await balance(apis.map(({ port }) => port))
    return { url: `http://127.0.0.1:${balancer.port}/v1`, fixtures }
  }
  return {
    certificate,
    keys: furnished.buyers,
    on(wanted) {
      if (running?.store !== wanted) running = { store: wanted, at: begin(wanted) }
      return running.at
    },
    async stop() {
      await Promise.all([receiver?.close(), balancer?.close()])
      await Promise.all([system.stop(), operator.closeOperator(), authority?.remove()])
      await pgbouncer?.stop()
    },
  }
}

/** One port in front of several processes, chosen round-robin per connection; the bytes are not changed. */
function balance(ports: readonly number[]): Promise<Relay> {
  let turn = 0
  return startRelay(() => {
    turn += 1
    return { port: ports[turn % ports.length] ?? 0 }
  })
}
