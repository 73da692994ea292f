import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgresProxy, type Trap } from '@shopwire/test-kit/proxies/postgres-proxy'
import type { Arrival } from '@shopwire/test-kit/receivers/webhook-receiver'
import { until } from '@shopwire/test-kit/servers'
import { startWorker, type WorkerProcess } from '@shopwire/test-kit/systems'
import { describe, expect } from 'vitest'
import { IS_SHORT } from '../../../test-forms.ts'
import { type Rig, SOON_MS, type Subscription, test } from './rig.ts'

const AT_ONCE = 4
const FLOOD = process.env.SHOPWIRE_LONG
  ? { events: 20_000, seconds: 60, endpoints: 20, msMax: 300_000 }
  : { events: IS_SHORT ? 1_000 : 2_000, seconds: IS_SHORT ? 4 : 8, endpoints: 8, msMax: 120_000 }
const TURN_S = 0.1
const KILL_EVERY_MS = 2_000
const recordsAttempt = (statement: string) => statement.includes('insert into delivery_attempts')

describe('threat 58: a worker killed with SIGKILL', () => {
  test('after the 2xx and before it is recorded: the event is sent again with the same id and bytes', async ({
    rig,
    subscribe,
  }) => {
    const customer = await subscribe('unrecorded.example.net')
    const { receiver, untilNothingPending, account_id } = customer
    await killWhenItRecords(rig, 'held', customer, AT_ONCE)
    await untilNothingPending()
    expect(copiesOf(receiver.arrivals)).toEqual(Array(AT_ONCE).fill({ copies: 2, bodies: 1 }))
    expect(handledBy(receiver)).toBe(AT_ONCE)
    expect(await attemptsOf(rig, account_id)).toBe(Array(AT_ONCE).fill('delivered|1|1|').join('\n'))
  })

  test('after it is recorded: the event is not sent again', async ({ rig, subscribe }) => {
    const customer = await subscribe('recorded.example.net')
    const { receiver, account_id } = customer
    await killWhenItRecords(rig, 'unanswered', customer, 1)
    await endLeases(rig)
    await until(
      async () => (await rig.system.query(`select from jobs where account_id = '${account_id}'`)) === '',
      SOON_MS,
      () => 'the job does not end',
    )
    expect(copiesOf(receiver.arrivals)).toEqual([{ copies: 1, bodies: 1 }])
    expect(await attemptsOf(rig, account_id)).toBe('delivered|1|1|')
  })

  test('at any moment: no event is lost, and every copy has the same id and bytes', async ({
    rig,
    subscribe,
  }) => {
    const { receiver, sendTest, untilNothingPending } = await subscribe('killed.example.net')
    receiver.answers(({ response }) => setTimeout(() => response.writeHead(200).end(), 30))
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 8; n += 1) await sendTest()
      await until(
        () => receiver.arrivals.length > round * 8,
        SOON_MS,
        () => 'nothing arrives',
      )
      await rig.worker.kill('SIGKILL')
      await endLeases(rig)
      await rig.worker.start()
      await untilNothingPending()
    }
    expect(handledBy(receiver)).toBe(24)
    expect(copiesOf(receiver.arrivals).every(({ bodies }) => bodies === 1)).toBe(true)
  })
})

test(`threat 58: with a worker killed every two seconds during ${FLOOD.events} events, each event arrives or is still pending`, {
  timeout: FLOOD.msMax,
}, async ({ rig, subscribe, annotate }) => {
  const customers = await Promise.all(
    Array.from({ length: FLOOD.endpoints }, (_, n) =>
      subscribe(`flood-${n}.example.net`, { port: 2000 + n }),
    ),
  )
  const second = await startWorker(rig.system.settingsOf('worker'))
  const untilMs = performance.now() + FLOOD.seconds * 1000
  const perTurn = Math.ceil((FLOOD.events / FLOOD.seconds) * TURN_S)
  let sent = 0
  const flowing = (async () => {
    while (sent < FLOOD.events) {
      await recordEvents(rig, customers, Math.min(perTurn, FLOOD.events - sent), sent)
      sent += perTurn
      await sleep(TURN_S * 1000)
    }
  })()
  let kills = 0
  for (const workers = [rig.worker, second]; performance.now() < untilMs; kills += 1) {
    const victim = workers[kills % 2] as WorkerProcess
    await sleep(KILL_EVERY_MS)
    await victim.kill('SIGKILL')
    await victim.start()
  }
  await flowing
  for (const { untilNothingPending } of customers) await untilNothingPending()
  await second.kill('SIGTERM')
  const copies = customers.flatMap(({ receiver }) => copiesOf(receiver.arrivals))
  await annotate(
    `${kills} kills, ${copies.length} events, ${copies.reduce((sum, each) => sum + each.copies, 0)} copies`,
  )
  expect(copies.length).toBe(FLOOD.events)
  expect(copies.every(({ bodies }) => bodies === 1)).toBe(true)
  expect(customers.every(({ receiver }) => receiver.arrivals.every(({ isGenuine }) => isGenuine))).toBe(true)
  await rig.expectAllHolds()
})

describe('threat 59: a worker that resumes after its lease expired', () => {
  test('changes nothing that another worker recorded meanwhile; no event is lost, and one attempt is counted', async ({
    rig,
    subscribe,
    onTestFinished,
  }) => {
    const { receiver, sendTest, account_id, makeDue, untilNothingPending } =
      await subscribe('twice.example.net')
    const asleep = Promise.withResolvers<void>()
    // Of two events, one fails for the sleeper and succeeds for the other worker, and one the other way round.
    receiver.answers(async ({ arrival, response }) => {
      const isFirst = receiver.arrivals[0]?.id === arrival.id
      const copy = receiver.arrivals.filter(({ id }) => id === arrival.id).length
      if (copy === 1) await asleep.promise
      const isFine = copy > 2 || isFirst === (copy === 2)
      response.writeHead(isFine ? 200 : 500).end()
    })
    await sendTest()
    await sendTest()
    await until(
      () => receiver.arrivals.length === 2,
      SOON_MS,
      () => 'the events do not arrive',
    )
    const [first, second] = receiver.arrivals.map(({ id }) => id)
    process.kill(rig.worker.pid() as number, 'SIGSTOP')
    // Answers are on their way to it while it cannot read them.
    asleep.resolve()
    const other = await startWorker(rig.system.settingsOf('worker'))
    onTestFinished(async () => void (await other.kill('SIGTERM')))
    const recorded = [`${first}|delivered|1|1|`, `${second}|pending|1|1|http_500`].sort().join('\n')
    const states = () => attemptsOf(rig, account_id, { withIds: true })
    await until(
      async () => (await states()) === recorded,
      SOON_MS,
      () => 'the other worker does not take over',
    )
    process.kill(rig.worker.pid() as number, 'SIGCONT')
    await until(
      () => rig.worker.logs().includes('job lost its lease'),
      SOON_MS,
      () => 'the sleeper does not notice',
    )
    expect(await states()).toBe(recorded)
    await makeDue()
    await untilNothingPending()
    expect(receiver.arrivals.filter(({ id }) => id === first)).toHaveLength(2)
    expect(receiver.arrivals.filter(({ id }) => id === second)).toHaveLength(3)
    expect(copiesOf(receiver.arrivals).every(({ bodies }) => bodies === 1)).toBe(true)
  })
})

test('all invariants hold after the tests above', ({ rig }) => rig.expectAllHolds())

/**
 * A worker that has its 2xx and is about to record it, or has recorded it without getting the confirmation, is killed; the usual one is back
 * then. Attempts are recorded together, so while the first are held the others wait with them.
 */
async function killWhenItRecords(
  rig: Rig,
  how: Trap['how'],
  { receiver, sendTest }: Subscription,
  events: number,
) {
  const { system } = rig
  await rig.worker.kill('SIGTERM')
  const proxy = await startPostgresProxy(system.postgres)
  const victim = await startWorker({
    ...system.settingsOf('worker'),
    SHOPWIRE_DATABASE_URL: proxy.url(system.database.processUrls.worker),
  })
  const caught = proxy.trap({ how, count: 1, isMeant: recordsAttempt })
  for (let n = 0; n < events; n += 1) await sendTest()
  await caught
  await until(
    () => receiver.arrivals.length === events,
    SOON_MS,
    () => 'the events do not arrive',
  )
  await victim.kill('SIGKILL')
  await proxy.close()
  await rig.worker.start()
}

/** Expires the ten-second leases at once; the workers that held them are dead. */
const endLeases = ({ system }: Rig) =>
  system.query(`update jobs set leased_until = null where queue = 'deliver'`)

/** State, attempts counted, attempts written down, and how they ended. */
const attemptsOf = ({ system }: Rig, account_id: string, { withIds = false } = {}) =>
  system.query(
    `select ${withIds ? 'event_id, ' : ''}state, attempts, count(n), string_agg(error, ' ' order by n)
       from deliveries d
       left join attempts_made a using (account_id, endpoint_id, event_id)
      where account_id = '${account_id}'
      group by event_id, state, attempts
      order by event_id collate "C"`,
  )

/** As the service records them; the API allows only ten tests to wait at a time. */
const recordEvents = ({ system }: Rig, customers: readonly Subscription[], count: number, from: number) =>
  system.query(
    `select record_event((array[${customers.map(({ account_id }) => `'${account_id}'`).join(', ')}])[1 + n % ${customers.length}],
                         'evt_' || lpad(n::text, 26, '0'), 'test', null, null, now())
       from generate_series(${from}, ${from + count - 1}) n`,
  )

/** How many events it accepted, each counted once. */
const handledBy = ({ arrivals }: Subscription['receiver']) =>
  new Set(arrivals.filter(({ isGenuine }) => isGenuine).map(({ id }) => id)).size

function copiesOf(received: readonly Arrival[]) {
  return [...Map.groupBy(received, ({ id }) => id).values()].map((copies) => ({
    copies: copies.length,
    bodies: new Set(copies.map(({ body }) => body)).size,
  }))
}
