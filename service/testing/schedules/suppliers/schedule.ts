import type { Operator } from '../../../src/operations/operator.ts'
import { type Db, sql } from '../../../src/platform/database/db.ts'
import { Refusal } from '../../../src/platform/trouble.ts'
import { requestId } from '../../../src/supply/obligation.ts'
import { itemOf, putItems } from '../../items.ts'
import type { Random } from '../../random.ts'
import { ScheduleFailed } from '../schedule-failed.ts'
import type { SimulatedSupplier, startSimulatedSuppliers } from './suppliers.ts'
import { type Death, startSimulatedWorker, type WorkerDeps } from './worker.ts'

export interface Lane extends Omit<WorkerDeps, 'clock'> {
  readonly clock: { nowMs(): number; advance(ms: number): void }
  /** Of the operator's login; `db` is the worker's. */
  readonly admin: Db
  readonly operator: Operator
  readonly account_id: string
  readonly suppliers: Awaited<ReturnType<typeof startSimulatedSuppliers>>
}

const STEPS_MAX = 16
const SETTLING_ROUNDS_MAX = 12
const MINUTE_MS = 60_000
/** Nobody listens there. */
const UNREACHABLE = 'http://127.0.0.1:1/'

const STEPS = {
  buy: 4,
  work: 9,
  die: 3,
  stall: 2,
  restart: 1,
  cancel: 1,
  'deliver by hand': 1,
  'load the pool': 1,
  'change the supplier': 2,
  'pause or resume': 1,
  'cut off or reconnect': 1,
  'give up': 2,
  collect: 1,
  'wait a minute': 1,
  limit: 1,
}

/** One run of a store with two or three suppliers that do everything a supplier may do, and an operator who does too. */
export async function runSchedule(lane: Lane, n: number, random: Random): Promise<void> {
  const { db, admin, operator, clock, account_id } = lane
  const steps: string[] = []
  const note = (line: string) => void steps.push(line)
  const fail = (what: string) => {
    throw new ScheduleFailed(`${what}\nsteps:\n  ${steps.join('\n  ')}`)
  }
  const item = `7${String(n).padStart(16, '0')}`
  await putItems(admin, [itemOf(item)])
  const suppliers: SimulatedSupplier[] = []
  for (const letter of random.pick([
    ['a', 'b'],
    ['a', 'b', 'c'],
  ])) {
    const supplier = lane.suppliers.add(`s${n}-${letter}`, random, note)
    suppliers.push(supplier)
    const { name, url } = supplier
    await operator.createSupplier({ name, url, timeout_ms: 10_000, allowHttp: true })
  }
  const cut = new Set<string>()
  const paused = new Set<string>()
  const orders: string[] = []
  /** Units of each order. */
  const bought = new Map<string, number>()
  const givenUp = new Set<string>()
  let workers = [startSimulatedWorker(lane), startSimulatedWorker(lane)]
  let count = 0
  const links = (many: number) =>
    Array.from({ length: many }, () => {
      count += 1
      return `https://gift.example/own/${n}/${count}`
    })

  async function choose() {
    const [first, second] = [...suppliers].sort(() => random.below(3) - 1) as [
      SimulatedSupplier,
      SimulatedSupplier,
    ]
    const hasFallback = random.chance(0.8)
    const source = random.weighted({ supplier: 8, pool: 1, hand: 1 })
    note(
      `source: ${source} ${source === 'supplier' ? `${first.name}, ${hasFallback ? second.name : 'none'}` : ''}`,
    )
    if (source !== 'supplier') return void (await operator.chooseSource(item, { source }))
    await operator.chooseSource(item, {
      source,
      supplier: first.name,
      fallback: hasFallback ? second.name : null,
      cost_cents: first.unit_cost_cents,
      ...(hasFallback && { fallback_cost_cents: second.unit_cost_cents }),
    })
  }

  const openRequests = (order_id: string) =>
    db.many<{ line: number }>(sql`
      select line from supplier_requests where account_id = ${account_id} and order_id = ${order_id} and ended_at is null`)

  async function step(what: keyof typeof STEPS): Promise<void> {
    const order = orders.length > 0 ? random.pick(orders) : undefined
    const worker = random.pick(workers)
    if (what === 'buy') {
      const idempotency_key = `schedule-${n}-${orders.length}`
      const qty = 1 + random.below(3)
      const placed = await operator.placeOrder(account_id, { items: [{ id: item, qty }], idempotency_key })
      const order_id = placed.kind === 'bought' ? placed.order.id : placed.order_id
      orders.push(order_id)
      bought.set(order_id, qty)
      return
    }
    if (what === 'change the supplier') return choose()
    if (what === 'load the pool') return void (await operator.loadPool(item, links(1 + random.below(2))))
    if (what === 'wait a minute') return clock.advance(MINUTE_MS)
    if (what === 'restart') {
      workers = [startSimulatedWorker(lane), startSimulatedWorker(lane)]
      return
    }
    const supplier = random.pick(suppliers)
    if (what === 'pause or resume') {
      const isPaused = !paused.delete(supplier.name)
      if (isPaused) paused.add(supplier.name)
      return void (await operator.pauseSupplier(supplier.name, isPaused))
    }
    if (what === 'cut off or reconnect') {
      const isCut = !cut.delete(supplier.name)
      if (isCut) cut.add(supplier.name)
      await admin.run(
        sql`update suppliers set url = ${isCut ? UNREACHABLE : supplier.url} where name = ${supplier.name}`,
      )
      return
    }
    if (what === 'limit') {
      const limit = random.pick([null, 50, 200, 1_000])
      return void (await operator.limitSupplier(supplier.name, limit))
    }
    if (order === undefined) return
    if (what === 'work') return note(`  ${await worker.work(order)}`)
    if (what === 'die') {
      const when = random.pick(['before', 'after'] as const)
      const death: Death = random.chance(0.4)
        ? { at: 'answer' }
        : { at: 'database', n: 1 + random.below(6), when }
      return note(`  ${JSON.stringify(death)}: ${await worker.work(order, { death })}`)
    }
    if (what === 'stall') return stalled(order)
    if (what === 'cancel') return void (await operator.cancelOrder(order, 'simulated'))
    if (what === 'deliver by hand') {
      const { missing } = await db.one<{ missing: number }>(sql`
        select (l.qty - (select count(*) from order_links k where k.account_id = l.account_id and k.order_id = l.order_id))::integer
                 as missing
          from order_lines l
         where l.account_id = ${account_id} and l.order_id = ${order}`)
      return void (await operator.deliverOrder(order, links(missing)))
    }
    if (what === 'give up') {
      const [open] = await openRequests(order)
      if (!open) return
      givenUp.add(order)
      return void (await operator.giveUpRequests(order, open.line))
    }
    for (const request of await writtenOff())
      note(`  ${(await operator.collectRequest(requestId(request))).outcome}`)
  }

  const writtenOff = () =>
    db.many<{ order_id: string; line: number; round: number }>(sql`
      select order_id, line, round
        from supplier_requests
       where stage = 'written_off'
         and supplier = any(${suppliers.map(({ name }) => name)})
       order by first_at, order_id, round`)

  /** A worker stops anywhere in its work, its lease ends, another one works on the order, and then the first goes on. */
  async function stalled(order: string): Promise<void> {
    const [first, second] = workers as [(typeof workers)[number], (typeof workers)[number]]
    const reached = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const at = random.chance(0.4) ? 'answer' : 1 + random.below(7)
    const wait = () => {
      reached.resolve()
      return goOn.promise
    }
    const late = first.work(order, { stall: { at, wait } })
    await Promise.race([reached.promise, late])
    note(`  at ${at}; the other worker: ${await second.work(order)}`)
    if (random.chance(0.5)) note(`  again: ${await second.work(order)}`)
    if (random.chance(0.3)) await tryStep(random.pick(['cancel', 'give up', 'change the supplier'] as const))
    goOn.resolve()
    note(`  the late one: ${await late}`)
  }

  /** What the store refuses, such as cancelling a delivered order, changes nothing. */
  async function tryStep(what: keyof typeof STEPS): Promise<void> {
    note(what)
    try {
      await step(what)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      note('  refused')
    }
  }

  try {
    await choose()
    await tryStep('buy')
    for (let left = 4 + random.below(STEPS_MAX - 4); left > 0; left -= 1)
      await tryStep(random.weighted(STEPS))
    note('everything settles')
    for (const supplier of suppliers) {
      supplier.becomeHonest()
      await admin.run(sql`
        update suppliers set url = ${supplier.url}, hourly_limit_cents = null, is_paused = false where name = ${supplier.name}`)
    }
    const isOpen = async () => (await Promise.all(orders.map(openRequests))).some((open) => open.length > 0)
    for (let round = 0; round === 0 || (round < SETTLING_ROUNDS_MAX && (await isOpen())); round += 1) {
      clock.advance(MINUTE_MS)
      const worker = startSimulatedWorker(lane)
      for (const order of orders) note(`  ${await worker.work(order)}`)
    }
    if (random.chance(0.5)) await tryStep('collect')
  } catch (error) {
    if (error instanceof ScheduleFailed) throw error
    fail(`${(error as Error).stack}`)
  }
  for (const supplier of suppliers)
    for (const wrong of await compare(lane, supplier, orders, givenUp)) fail(wrong)
  for (const wrong of boughtTwice(suppliers, bought, givenUp)) fail(wrong)
}

interface Row {
  readonly stage: string
  readonly links: number | null
  readonly stored: number
  readonly booked: number
}

/** The supplier's own records against ours: links produced = sold + pooled + set aside + unsettled. */
async function compare(
  { db, account_id }: Lane,
  supplier: SimulatedSupplier,
  orders: readonly string[],
  givenUp: ReadonlySet<string>,
): Promise<string[]> {
  const rows = await db.many<Row & { id: string; order_id: string; qty: number }>(sql`
    select r.order_id, r.order_id || '-' || r.line || case when r.round > 1 then '-' || r.round else '' end as id, r.qty, r.stage, r.links,
           (select count(*)
              from link_fingerprints f
             where f.made_by = r.supplier || '/' || r.order_id || '-' || r.line || case when r.round > 1 then '-' || r.round else '' end
               and (exists (select from order_links k where k.link_hash = f.hash)
                    or exists (select from pool_links p where p.link_hash = f.hash))) as stored,
           (select coalesce(sum(t.amount_cents), 0)::bigint
              from supplier_transfers t
             where t.supplier = r.supplier
               and t.reference = r.order_id || '-' || r.line || case when r.round > 1 then '-' || r.round else '' end) as booked
      from supplier_requests r
     where r.account_id = ${account_id}
       and r.order_id = any(${orders})
       and r.supplier = ${supplier.name}`)
  const wrong: string[] = []
  for (const id of supplier.sales.keys())
    if (!rows.some((row) => row.id === id))
      wrong.push(`${supplier.name} made links for ${id}, which was never recorded`)
  for (const { id, order_id, qty, stage, stored, booked } of rows) {
    const sale = supplier.sales.get(id)
    const about = `${supplier.name} ${id} is ${stage}, ${stored} links stored, ${booked} cents booked`
    if (['requested', 'accepted', 'unknown'].includes(stage)) wrong.push(`${about}: still open`)
    const cameIn = stage === 'fulfilled' || stage === 'collected'
    if (cameIn && (!sale || (stored !== qty && !sale.isShared)))
      wrong.push(`${about}: made ${sale?.links.length}`)
    if (!cameIn && (stored > 0 || booked > 0)) wrong.push(about)
    if (cameIn && !sale?.isShared && booked !== (sale?.cost_cents ?? supplier.unit_cost_cents * qty))
      wrong.push(`${about}: asked ${sale?.cost_cents}`)
    // It made links that we do not have: they must be visible as unsettled, and only an operator's decision does that here.
    if (sale && !sale.isShared && !cameIn && !(stage === 'written_off' && givenUp.has(order_id)))
      wrong.push(`${about}: it made ${sale.links.length} links that count as not owed`)
  }
  return wrong
}

/** By the suppliers' own records: orders for which more was made than was ordered, although no operator gave a request up. */
const boughtTwice = (
  suppliers: readonly SimulatedSupplier[],
  orders: ReadonlyMap<string, number>,
  givenUp: ReadonlySet<string>,
): string[] =>
  [...orders].flatMap(([order, qty]) => {
    const sales = suppliers.flatMap(({ name, sales }) =>
      [...sales].flatMap(([id, { links, isShared }]) =>
        id.startsWith(`${order}-`) && !isShared ? [{ name, links: links.length }] : [],
      ),
    )
    const made = sales.reduce((sum, { links }) => sum + links, 0)
    if (made <= qty || givenUp.has(order)) return []
    return [
      `for ${order}, ${qty} units, ${made} links were made by ${sales.map(({ name }) => name).join(' and ')}`,
    ]
  })
