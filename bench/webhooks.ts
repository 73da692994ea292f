import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { BASE_PATH } from '@shopwire/contract'
import { createAuthority, isInPublicNetwork } from '@shopwire/test-kit/servers'
import { type ApiProcess, familyCpuMs } from '@shopwire/test-kit/systems'
import { createClient } from './growth/client.ts'
import { type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { median, overRounds, quantile, rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import { watchMachine } from './shared/machine.ts'
import type { BenchOptions, WebhookPart } from './shared/options.ts'
import { printProfile, profileWhile } from './shared/profile.ts'
import { seed, vacuumAsUsual } from './shared/seed.ts'
import { recordEvents, recordOrderEvents, seedEndpoints } from './webhooks/endpoints.ts'
import { benchAgainInPublicNetwork, type Receiver, startReceiver } from './webhooks/start-receiver.ts'

/** By number of the account: those that answer, those that do not, and those that only get catalogue changes. */
const HEALTHY = { firstAccount: 1, count: 500 }
const BAD = ['/hang', '/drip', '/endless'] as const
const FIRST_BAD = 501
const FAN_OUT = { firstAccount: 1_001, count: 100_000 }
/** Callers of the API during the fan-out, each well below its limit: what a window holds must not grow while the bench runs. */
const KEYS = 100

/** One worker's slots, and how many events each sends at once. */
const ENDPOINTS_AT_ONCE = 64
const ATTEMPTS_AT_ONCE = 4
/** More than a worker delivers in a run. */
const BACKLOG_PER_SECOND = 9_000
const WARM_UP_SECONDS = 1
const EVENTS_PER_SECOND = 100
const ASKS_PER_SECOND = 100
const QUIET_SECONDS = 20
const SAMPLE_MS = 1_000
const LATE_S_MAX = 30
const DIRECTORY = fileURLToPath(new URL('./webhooks/', import.meta.url))

/**
 * How fast one worker delivers events of orders, compared with a loop that posts such bytes and records nothing, and with one that
 * records only what survives a crash; what receivers that hang,
 * drip or never end do to the others; and what announcing a catalogue change to 100,000 endpoints does to the API.
 */
export async function webhooks(options: BenchOptions): Promise<void> {
  if (!isInPublicNetwork()) return benchAgainInPublicNetwork()
  const authority = await createAuthority()
  say('starting PostgreSQL, Redis and a receiver')
  const system = await startBenchSystem({
    accounts: FAN_OUT.firstAccount + FAN_OUT.count,
    keys: KEYS,
    scopes: 'read',
    settings: { NODE_EXTRA_CA_CERTS: authority.file },
  })
  try {
    const receiver = await startReceiver(system, authority)
    await seedEndpoints(system, [
      { ...HEALTHY, url: `${receiver.url}/ok` },
      ...BAD.map((path, n) => ({ firstAccount: FIRST_BAD + n, count: 1, url: `${receiver.url}${path}` })),
    ])
    const wants = (part: WebhookPart) => options.only === undefined || options.only === part
    const figures = {
      ...(wants('speed') && (await measureSpeed(system, receiver, options))),
      ...(wants('isolation') && (await measureIsolation(system, receiver, options))),
      ...(wants('fan-out') && (await measureFanOut(system, receiver))),
    }
    await assertInvariants(system)
    say(JSON.stringify({ bench: 'webhooks', ...figures }))
  } finally {
    await system.stop()
    await authority.remove()
  }
}

/** Each round on the same events: without any record, with the least record that survives a crash, and by the worker. */
async function measureSpeed(
  system: BenchSystem,
  receiver: Receiver,
  { seconds, rounds, profile }: BenchOptions,
): Promise<Record<string, number | number[]>> {
  const backlog = Math.ceil((BACKLOG_PER_SECOND * (seconds + WARM_UP_SECONDS)) / ENDPOINTS_AT_ONCE)
  const shop = { accounts: ENDPOINTS_AT_ONCE, orders: ENDPOINTS_AT_ONCE * backlog, items: 100 }
  await seed(system.owner, shop, say, { paidShare: 0 })
  const speeds: { bare: Speed; durable: Speed; ours: Speed }[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const bare = await scriptSpeed(system, receiver, 'bare.ts', seconds)
    const durable = await scriptSpeed(system, receiver, 'durable.ts', seconds)
    const ours = await ourSpeed(system, receiver, seconds)
    speeds.push({ bare, durable, ours })
    say(`round ${round}`)
    for (const [name, speed] of Object.entries({ bare, durable, worker: ours })) {
      say(
        `  ${name.padEnd(8)}${speed.perSecond.toFixed(0).padStart(7)}/s   CPU us each: sender ${speed.senderUs.toFixed(0)}, ` +
          `PostgreSQL ${speed.postgresUs.toFixed(0)}   idle ${(100 * speed.idle).toFixed(0)} %`,
      )
    }
  }
  if (profile) await ourSpeed(system, receiver, seconds, true)
  const middle = (of: (speed: (typeof speeds)[number]) => number) => Math.round(median(speeds.map(of)))
  return {
    ...overRounds(
      'ratio',
      speeds.map(({ ours, bare }) => ours.perSecond / bare.perSecond),
    ),
    ...overRounds(
      'ratio_fair',
      speeds.map(({ ours, durable }) => ours.perSecond / durable.perSecond),
    ),
    bare_per_s: middle(({ bare }) => bare.perSecond),
    durable_per_s: middle(({ durable }) => durable.perSecond),
    deliveries_per_s: middle(({ ours }) => ours.perSecond),
    worker_us: middle(({ ours }) => ours.senderUs),
    postgres_us: middle(({ ours }) => ours.postgresUs),
  }
}

interface Speed {
  readonly perSecond: number
  /** CPU time for one delivery. */
  readonly senderUs: number
  readonly postgresUs: number
  /** The part of the processors' time in which nothing ran, from 0 to 1. */
  readonly idle: number
}

async function scriptSpeed(
  system: BenchSystem,
  receiver: Receiver,
  script: 'bare.ts' | 'durable.ts',
  seconds: number,
): Promise<Speed> {
  if (script === 'durable.ts') await fillBacklog(system)
  await receiver.count()
  const connections = ENDPOINTS_AT_ONCE * ATTEMPTS_AT_ONCE
  const args = [
    DIRECTORY + script,
    `${receiver.url}/ok`,
    String(connections),
    String(seconds),
    system.database.ownerUrl,
  ]
  const postgresMs = familyCpuMs(system.postgres.pid())
  const { loadMs, idle } = await watchMachine(() =>
    promisify(execFile)(process.execPath, args, { env: system.settings }),
  )
  const { received, firstMs, lastMs } = await receiver.count()
  const eachUs = (ms: number) => (1_000 * ms) / received
  await deleteEvents(system)
  return {
    perSecond: (received * 1_000) / (lastMs - firstMs),
    senderUs: eachUs(loadMs),
    postgresUs: eachUs(familyCpuMs(system.postgres.pid()) - postgresMs),
    idle,
  }
}

/** The events are there before the worker is, and more of them than it can send. */
async function ourSpeed(
  system: BenchSystem,
  receiver: Receiver,
  seconds: number,
  profile = false,
): Promise<Speed> {
  await fillBacklog(system)
  const worker = await system.startWorker(profile)
  await untilFirst(receiver)
  await sleep(1_000 * WARM_UP_SECONDS)
  await receiver.count()
  const [workerMs, postgresMs] = [worker.cpuMs(), familyCpuMs(system.postgres.pid())]
  const beganMs = performance.now()
  const { idle } = await watchMachine(async () => {
    if (profile) printProfile('worker', await profileWhile(worker.logs(), () => sleep(1_000 * seconds)))
    else await sleep(1_000 * seconds)
  })
  const { received } = await receiver.count()
  const eachUs = (ms: number) => (1_000 * ms) / received
  const speed = {
    perSecond: (received * 1_000) / (performance.now() - beganMs),
    senderUs: eachUs(worker.cpuMs() - workerMs),
    postgresUs: eachUs(familyCpuMs(system.postgres.pid()) - postgresMs),
    idle,
  }
  await worker.kill('SIGKILL')
  await assertBacklogLeft(system)
  await deleteEvents(system)
  return speed
}

async function fillBacklog(system: BenchSystem): Promise<void> {
  await recordOrderEvents(system.owner)
  await vacuumAsUsual(system.owner)
}

async function assertBacklogLeft(system: BenchSystem): Promise<void> {
  const { rows } = await system.owner.query<{ busy: string }>(
    `select count(distinct account_id) as busy from deliveries where state = 'pending'`,
  )
  const busy = Number(rows[0]?.busy)
  if (busy < ENDPOINTS_AT_ONCE)
    throw new Error(
      `${ENDPOINTS_AT_ONCE - busy} endpoints had nothing left to send: the backlog is too small`,
    )
}

async function untilFirst(receiver: Receiver): Promise<void> {
  for (let received = 0; received === 0; { received } = await receiver.count()) await sleep(50)
}

async function deleteEvents(system: BenchSystem): Promise<void> {
  await system.owner.query('truncate delivery_attempts, deliveries, events, jobs')
  await system.owner.query('update event_retention set kept_since = now()')
}

/** The same events to 500 healthy endpoints, without and with three bad ones beside them. */
async function measureIsolation(
  system: BenchSystem,
  receiver: Receiver,
  { seconds, minutes }: BenchOptions,
): Promise<Record<string, number>> {
  const worker = await system.startWorker()
  const flow = (length: number, bad: readonly number[], onSample?: (second: number) => void) =>
    flowEvents(system, receiver, length, bad, onSample)
  await flow(seconds, [])
  const without = await flow(Math.max(seconds, 20), [])
  const bad = BAD.map((_, n) => FIRST_BAD + n)
  const beside = await flow(Math.max(seconds, 20), bad)
  const [alone99, beside99] = [quantile(without, 0.99), quantile(beside, 0.99)]
  say(
    `event to first attempt, ${HEALTHY.count} healthy endpoints: p50 ${quantile(without, 0.5)}, p99 ${alone99} ms; ` +
      `beside ${BAD.join(', ')}: p50 ${quantile(beside, 0.5)}, p99 ${beside99} ms`,
  )
  const figures: Record<string, number> = {
    first_attempt_p50_ms: quantile(without, 0.5),
    first_attempt_p99_ms: alone99,
    beside_bad_p99_ratio: rounded(beside99 / alone99),
  }
  if (minutes > 0) {
    const samplesMb: number[] = []
    await flow(60 * minutes, bad, (second) => {
      samplesMb.push(worker.residentMb())
      if (second % 60 === 0) say(`minute ${second / 60}: worker ${worker.residentMb().toFixed(0)} MB`)
    })
    const third = Math.floor(samplesMb.length / 3)
    figures.memory_growth = rounded(
      median(samplesMb.slice(-third)) / median(samplesMb.slice(third, 2 * third)),
    )
    figures.memory_mb = Math.round(median(samplesMb.slice(-third)))
  }
  await worker.kill('SIGKILL')
  await deleteEvents(system)
  return figures
}

/** A steady stream to all of the healthy ones in turn; returns how long each event took to arrive. */
async function flowEvents(
  system: BenchSystem,
  receiver: Receiver,
  seconds: number,
  bad: readonly number[],
  onSample: (second: number) => void = () => {},
): Promise<number[]> {
  await receiver.count()
  const stepMs = SAMPLE_MS / EVENTS_PER_SECOND
  const waitsMs: number[] = []
  const beganMs = performance.now()
  for (let n = 0; n < seconds * EVENTS_PER_SECOND; n += 1) {
    await recordEvents(system.owner, [HEALTHY.firstAccount + (n % HEALTHY.count)])
    if (n % EVENTS_PER_SECOND === 0) {
      if (bad.length > 0) await recordEvents(system.owner, bad)
      waitsMs.push(...(await receiver.count()).waitsMs)
      onSample(n / EVENTS_PER_SECOND)
    }
    await sleep(Math.max(0, beganMs + (n + 1) * stepMs - performance.now()))
  }
  for (let lateS = 0; waitsMs.length < seconds * EVENTS_PER_SECOND; lateS += 1) {
    if (lateS === LATE_S_MAX) throw new Error(`after ${LATE_S_MAX} s not all events had arrived`)
    await sleep(SAMPLE_MS)
    waitsMs.push(...(await receiver.count()).waitsMs)
  }
  return waitsMs
}

/** The API's answers before and while the change is announced to every endpoint; the worker delivers all the time. */
async function measureFanOut(system: BenchSystem, receiver: Receiver): Promise<Record<string, number>> {
  say(`making ${FAN_OUT.count} endpoints`)
  await seedEndpoints(system, [{ ...FAN_OUT, url: `${receiver.url}/ok` }])
  await vacuumAsUsual(system.owner)
  const api = await system.startApi('postgres')
  const worker = await system.startWorker()
  await askSteadily(system, api, () => false, 5)
  const quiet = await askSteadily(system, api, () => false, QUIET_SECONDS)
  const beganMs = performance.now()
  await system.owner.query('update catalogue_state set revision = revision + 1')
  const watch = untilAnnounced(system)
  let isAnnounced = false
  void watch.then(() => {
    isAnnounced = true
  })
  const during = await askSteadily(system, api, () => isAnnounced, 300)
  await watch
  const seconds = (performance.now() - beganMs) / 1_000
  const { rows } = await system.owner.query<{ written: string }>(
    `select count(*) as written from events where type = 'catalogue.changed'`,
  )
  const { received } = await receiver.count()
  await worker.kill('SIGKILL')
  await api.kill('SIGKILL')
  const [quiet99, during99] = [quantile(quiet, 0.99), quantile(during, 0.99)]
  say(
    `catalogue.changed: ${rows[0]?.written} rows in ${seconds.toFixed(1)} s, ${received} of them delivered meanwhile; ` +
      `API p50 ${quantile(quiet, 0.5).toFixed(1)} to ${quantile(during, 0.5).toFixed(1)} ms, p99 ${quiet99.toFixed(1)} to ${during99.toFixed(1)} ms`,
  )
  return {
    fan_out_rows: Number(rows[0]?.written),
    fan_out_s: rounded(seconds, 1),
    api_p99_quiet_ms: rounded(quiet99, 1),
    api_p99_ratio: rounded(during99 / quiet99),
  }
}

async function untilAnnounced(system: BenchSystem): Promise<void> {
  for (;;) {
    const { rows } = await system.owner.query<{ is_done: boolean }>(
      `select a.told_up_to is null and a.revision = s.revision as is_done from catalogue_announcement a, catalogue_state s`,
    )
    if (rows[0]?.is_done) return
    await sleep(100)
  }
}

/** Signed reads at a steady pace, however long an answer takes; the time of each in ms. */
async function askSteadily(
  system: BenchSystem,
  api: ApiProcess,
  isOver: () => boolean,
  secondsMax: number,
): Promise<number[]> {
  const clients = Array.from({ length: 16 }, () => createClient(api.port))
  const asks: Promise<{ ms: number }>[] = []
  const beganMs = performance.now()
  for (let n = 0; n < secondsMax * ASKS_PER_SECOND && !isOver(); n += 1) {
    const client = clients[n % clients.length]
    const key = system.keys[n % system.keys.length]
    if (client && key) asks.push(client.ask(key, { method: 'GET', target: `${BASE_PATH}/ping`, body: '' }))
    await sleep(Math.max(0, beganMs + ((n + 1) * 1_000) / ASKS_PER_SECOND - performance.now()))
  }
  const answers = await Promise.all(asks)
  for (const client of clients) client.close()
  return answers.map(({ ms }) => ms)
}
