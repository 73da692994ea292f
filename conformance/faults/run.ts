import { IS_SHORT } from '../../test-forms.ts'
import { Accounts } from '../accounts.ts'
import { type Check, findItems, type Outcome, runChecks } from '../check.ts'
import type { Fixtures, Key } from '../fixtures.ts'
import { checks } from '../groups/index.ts'
import { startPrivateSystem } from '../private-system.ts'
import type { Receiver } from '../receiver.ts'
import { baseOf } from '../tools.ts'
import { type Fault, faults, isEventFault } from './faults.ts'
import { type Secrets, startProxy, startReceiverProxy } from './proxy.ts'

/**
 * Runs the kit against a correct service and, at the same time, against one wrong server for each fault; prints the results as
 * JSON.
 */
const AT_ONCE = 6
const BUYERS = 20
/** Accounts for the faults that use up limits; nothing else uses them. */
const RESERVED = 3
const ALLOWED = { spend: true, webhooks: true, limits: true }

export interface FaultResult {
  readonly name: string
  readonly what: string
  readonly skipped: boolean
  readonly caughtBy: readonly { readonly id: string; readonly message: string }[]
}

const startedMs = performance.now()
const service = await startPrivateSystem({ buyers: BUYERS })
try {
  const { url, fixtures: whole } = await service.on('postgres')
  const base = baseOf(url)
  const reserved = new Accounts(whole.buyers.slice(0, RESERVED))
  const accounts = new Accounts(whole.buyers.slice(RESERVED))
  const fixtures: Fixtures = {
    ...whole,
    buyers: whole.buyers.slice(RESERVED),
    items: await findItems(base, whole, accounts),
  }
  const began = performance.now()
  let startFaults = () => {}
  const planted = new Promise<void>((resolve) => {
    startFaults = resolve
  }).then(() => plantAll(url, fixtures, accounts, reserved))
  const clean = await runChecks({ base, fixtures, allowed: ALLOWED, checks, accounts, onShared: startFaults })
  const results = await planted
  process.stdout.write(
    `${JSON.stringify({
      setUpSeconds: (began - startedMs) / 1000,
      seconds: (performance.now() - began) / 1000,
      clean: summary(clean),
      faults: results,
    })}\n`,
  )
} finally {
  await service.stop()
}

function summary(outcomes: readonly Outcome[]) {
  const of = (result: Outcome['result']) => outcomes.filter((outcome) => outcome.result === result)
  return {
    passed: of('passed').length,
    skipped: of('skipped').length,
    failed: of('failed').map(({ check, message }) => ({ id: check.id, message })),
  }
}

async function plantAll(
  url: string,
  fixtures: Fixtures,
  accounts: Accounts,
  reserved: Accounts,
): Promise<FaultResult[]> {
  const planted = faults.filter((_, n) => !IS_SHORT || n % 3 === 0)
  // Those that wait for a minute begin first.
  const ordered = planted.toSorted((a, b) => Number(isSlow(b)) - Number(isSlow(a)))
  const results = new Map<Fault, FaultResult>()
  const queue = ordered.values()
  const work = async () => {
    for (const fault of queue)
      results.set(fault, await plant(fault, url, fixtures, fault.isLimits ? reserved : accounts))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return faults.flatMap((fault) => results.get(fault) ?? [])
}

function isSlow(fault: Fault): boolean {
  return chosen(fault).some(({ pace }) => pace === 'slow')
}

function chosen({ checks: wanted }: Fault): Check[] {
  return checks.filter(({ id }) => wanted.includes(id))
}

async function plant(
  fault: Fault,
  url: string,
  fixtures: Fixtures,
  accounts: Accounts,
): Promise<FaultResult> {
  const { name, what } = fault
  const wrong = fault.plant(secretsOf(fixtures))
  const proxy = await startProxy(url, wrong)
  const front = isEventFault(fault) ? await interceptEvents(fixtures, wrong) : undefined
  try {
    const outcomes = await runChecks({
      base: baseOf(proxy.url),
      fixtures: front ? { ...fixtures, receiver: front.receiver } : fixtures,
      allowed: ALLOWED,
      checks: chosen(fault),
      accounts,
    })
    const caughtBy = outcomes
      .filter(({ result }) => result === 'failed')
      .map(({ check, message }) => ({ id: check.id, message }))
    return { name, what, skipped: outcomes.every(({ result }) => result === 'skipped'), caughtBy }
  } finally {
    await proxy.close()
    await front?.close()
  }
}

/** The receiver as the service reaches it through a proxy that changes events. */
async function interceptEvents(fixtures: Fixtures, wrong: ReturnType<Fault['plant']>) {
  const { receiver } = fixtures
  if (!receiver || !service.certificate) return undefined
  const real = new URL(receiver.open().url)
  const proxy = await startReceiverProxy(
    service.certificate,
    { host: real.hostname, port: Number(real.port) },
    wrong,
  )
  const behind: Receiver = {
    ...receiver,
    open() {
      const inbox = receiver.open()
      return { ...inbox, url: inbox.url.replace(real.origin, proxy.url) }
    },
  }
  return { receiver: behind, close: () => proxy.close() }
}

function secretsOf(fixtures: Fixtures): Secrets {
  const keys: (Key | undefined)[] = [
    ...service.keys,
    ...Object.values(fixtures.only ?? {}),
    ...Object.values(fixtures.without ?? {}),
    fixtures.poor,
    fixtures.suspended,
  ]
  const known = new Map(keys.flatMap((key) => (key ? [[key.id, key.secret]] : [])))
  return (id) => known.get(id ?? '')
}
