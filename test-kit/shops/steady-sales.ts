import { setTimeout as sleep } from 'node:timers/promises'
import { type Buyer, newOrder } from '../people/buyer.ts'
import { type Answer, type Connection, ConnectionLost, connect } from '../requests/connection.ts'
import { until } from '../servers/index.ts'
import type { System } from '../systems/index.ts'

/** One order as its caller saw it: sent, and sent once more with the same idempotency key when the first call did not succeed. */
export interface Sale {
  readonly status: number
  /** What the first call came to when there was a second. */
  readonly firstFailure: string | undefined
  readonly startedMs: number
  /** From the first byte sent to the last one received, of both calls together. */
  readonly waitedMs: number
}

export interface SteadySales {
  readonly sales: readonly Sale[]
  /** New connections go to these ports from now on, and the others are used no more, as by a load balancer. */
  sendTo(ports: readonly number[]): void
  /** Lets everything under way come to its end. Answers with orders per second. */
  stop(): Promise<number>
}

export interface SteadySalesOptions {
  readonly buyers: readonly Buyer[]
  /** Of the n-th order. */
  item(n: number): string
  readonly perSecond: number
  readonly ports: readonly number[]
  /** Of the proxy behind these ports. */
  readonly ca?: string
}

/** For what comes while a sale waits; a machine that cannot keep up sells less instead of measuring its own queue. */
const CONNECTIONS = 60
const TICK_MS = 5
/** As a client waits before it tries again. */
const RETRY_AFTER_MS = 50

interface Line {
  via: Connection
  port: number
}

/** Orders at a steady rate, whether or not the ones before have been answered: what waits is seen to wait. */
export async function startSteadySales({
  buyers,
  item,
  perSecond,
  ports,
  ca,
}: SteadySalesOptions): Promise<SteadySales> {
  let open = ports
  let turn = 0
  const openLine = async (): Promise<Line> => {
    turn += 1
    const port = open[turn % open.length] ?? 0
    return { via: await connect(port, ca === undefined ? {} : { ca }), port }
  }
  const free: Line[] = []
  for (let n = 0; n < CONNECTIONS; n += 1) free.push(await openLine())
  const sales: Sale[] = []
  const underWay = new Set<Promise<void>>()
  const startedMs = performance.now()
  let [due, sent] = [0, 0]
  let failure: unknown

  async function sell(line: Line): Promise<void> {
    sent += 1
    const buyer = buyers[sent % buyers.length] as Buyer
    const order = newOrder({ id: item(sent) })
    const saleStartedMs = performance.now()
    let place = line
    let answer = await callOn(place, buyer, order)
    let firstFailure: string | undefined
    if (!isSold(answer)) {
      firstFailure = answer ? `${answer.status} ${answer.body?.error?.type ?? ''}` : 'connection lost'
      place.via.close()
      await sleep(RETRY_AFTER_MS)
      place = await openLine()
      answer = await callOn(place, buyer, order)
    }
    const waitedMs = performance.now() - saleStartedMs
    sales.push({ status: answer?.status ?? 0, firstFailure, startedMs: saleStartedMs, waitedMs })
    if (answer && answer.headers.connection !== 'close' && open.includes(place.port))
      return void free.push(place)
    place.via.close()
    free.push(await openLine())
  }

  const timer = setInterval(() => {
    for (; due < ((performance.now() - startedMs) * perSecond) / 1_000; due += 1) {
      const line = free.shift()
      if (!line) continue
      const sale: Promise<void> = sell(line)
        .catch((error: unknown) => {
          failure ??= error
        })
        .finally(() => underWay.delete(sale))
      underWay.add(sale)
    }
  }, TICK_MS)
  return {
    sales,
    sendTo(changed) {
      open = changed
      const closed = free.filter(({ port }) => !open.includes(port))
      for (const line of closed) {
        free.splice(free.indexOf(line), 1)
        line.via.close()
        openLine().then(
          (fresh) => free.push(fresh),
          (error: unknown) => {
            failure ??= error
          },
        )
      }
    },
    async stop() {
      clearInterval(timer)
      const rate = (sent / (performance.now() - startedMs)) * 1_000
      await Promise.all(underWay)
      for (const { via } of free) via.close()
      if (failure !== undefined) throw failure
      return rate
    },
  }
}

async function callOn(
  { via }: Line,
  buyer: Buyer,
  order: ReturnType<typeof newOrder>,
): Promise<Answer | undefined> {
  try {
    return await buyer.place(via, order)
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
    return undefined
  }
}

/** Bought now, or found bought by the first call. */
function isSold(answer: Answer | undefined): boolean {
  return answer?.status === 201 || answer?.status === 200
}

/** What this share of sales waited at most, in milliseconds. */
export function waitOf(sales: readonly Sale[], share: number): number {
  const waits = sales.map(({ waitedMs }) => waitedMs).sort((a, b) => a - b)
  return waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0
}

export function describeSales(sales: readonly Sale[]): string {
  const ms = (share: number) => `${waitOf(sales, share).toFixed(0)} ms`
  const retried = sales.filter(({ firstFailure }) => firstFailure !== undefined).length
  return `${sales.length} orders, p50 ${ms(0.5)}, p99 ${ms(0.99)}, longest ${ms(1)}, ${retried} retried`
}

/** Until workers have delivered every order of this item. */
export async function untilDelivered(system: System, item_id: string, msMax: number): Promise<void> {
  const waiting = `select count(*) from orders o join order_lines l on l.account_id = o.account_id and l.order_id = o.id where o.status = 'paid' and l.item_id = '${item_id}'`
  await until(
    async () => (await system.query(waiting)) === '0',
    msMax,
    () => 'orders are not delivered',
  )
}
