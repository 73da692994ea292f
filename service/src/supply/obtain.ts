import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import { LeaseLostError } from '../platform/jobs/jobs.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Span } from '../platform/observability/tracing.ts'
import { askSupplier, type SupplierAsk, type SupplierReply } from './ask-supplier.ts'
import { createBreaker } from './breaker.ts'
import { SUPPLIER_NAMES_MAX, SUPPLIER_OUTCOMES, type SupplierOutcome, type SupplyMetrics } from './metrics.ts'
import { expectedCost, requestId } from './obligation.ts'
import type { ItemSupply, SupplierRow } from './queries.ts'
import {
  type Asking,
  type FencedRequest,
  forgetRefusals,
  GIVEN_UP,
  insertRequest,
  lockPaidOrder,
  type OrderRequestRow,
  recordAskingAgain,
  recordFailure,
  recordRefusal,
  reviveRequest,
  SOLD_BEFORE,
  type SupplierRequest,
  selectRequestsOfLine,
} from './request-queries.ts'
import { countSpending, LimitReached } from './spending.ts'
import { getSupplier, openSupplierSecret } from './suppliers.ts'

/** What one line of an order still needs from suppliers. */
export interface Need {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  /** Requests of the line that were sent and have no final answer yet. */
  readonly open: readonly Pick<OrderRequestRow, 'supplier' | 'round'>[]
  /** The suppliers to call for what is missing; none when undefined. */
  readonly supply: ItemSupply | undefined
  readonly missing: number
  /** The number of the lease under which suppliers are called. */
  readonly fencing_token: number
  /** Of the attempt to fulfil the order, while tracing is on. */
  readonly span?: Span | undefined
  /** Throws when another worker has the order's job now. The order must be locked. */
  assertLease(tx: Tx): Promise<unknown>
}

export type Obtained =
  | {
      readonly kind: 'given'
      readonly links: readonly string[]
      readonly said_cents: number | null
      readonly supplier: string
      /** The number of the request; null when none was recorded, because nothing is owed for it. */
      readonly round: number | null
    }
  | { readonly kind: 'not yet'; readonly note: string }

/** The result of calling one supplier; with the number of the request if links came. */
type Reply = Exclude<SupplierReply, { kind: 'given' }> | Extract<Obtained, { kind: 'given' }>

/** The caller stores the links and records the request as given, in one transaction. */
export type ObtainFromSuppliers = (need: Need) => Promise<Obtained>

/**
 * Settles the line's open requests first, each with its own supplier, whatever the configuration says now: a supplier that
 * may have received a request may have sold. Only when none is open is the item's supplier asked, then its fallback: after
 * the first one refused, or when it certainly received nothing.
 */
export function createObtainer(deps: {
  db: Db
  keyring: Keyring
  clock: Clock
  /** Concurrent requests to one supplier: a slow one must not take every worker slot. */
  asksMax: number
  /** How suppliers are reached. */
  fetch: typeof globalThis.fetch
  log: Log
  metrics: Pick<SupplyMetrics, 'supplierCalls' | 'supplierCallDuration' | 'supplierLimitWaits'>
}): ObtainFromSuppliers {
  const { db, keyring, clock, asksMax, log, metrics } = deps
  const breaker = createBreaker()
  const labelOf = boundedLabels(metrics)
  const observe = callObserver(log, metrics, labelOf)
  const running = new Map<string, number>()

  /** Also while the supplier is paused: a pause stops new requests, and this one may have been charged. */
  async function askAgain(need: Need, { supplier, round }: Need['open'][number]): Promise<Reply> {
    if (!breaker.allows(supplier, clock.nowMs())) return { kind: 'later', error: KEEPS_FAILING }
    const { account_id, order_id, line, fencing_token } = need
    const request = { account_id, order_id, line, supplier, round, fencing_token }
    return send(need, await getSupplier(db, supplier), (at) => recordAskingAgain(db, request, at))
  }

  async function askFirst(need: Need, supply: ItemSupply, name: string): Promise<Reply> {
    const row = await getSupplier(db, name)
    if (row.is_paused) return { kind: 'unsent', error: 'paused' }
    if (!breaker.allows(name, clock.nowMs())) return { kind: 'unsent', error: KEEPS_FAILING }
    const before = (await selectRequestsOfLine(db, need)).findLast(({ supplier }) => supplier === name)
    if (isPassedOver(before, supply, name)) return { kind: 'refused', error: String(before?.error) }
    try {
      return await send(need, row, (at) => recordAsking(db, need, supply, name, at))
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error
      metrics.supplierLimitWaits.inc({ supplier: labelOf(name) })
      const { account_id, order_id, line } = need
      log.warn(
        { account_id, order_id, line, supplier: name },
        `a line waits for a supplier: ${error.message}`,
      )
      // Not final, so that the fallback is not asked: a limit that only moves the spending elsewhere limits nothing.
      return { kind: 'later', error: error.message }
    }
  }

  async function send(
    need: Need,
    row: SupplierRow,
    record: (at: Date) => Promise<Asking | undefined>,
  ): Promise<Reply> {
    const { account_id, order_id, line, fencing_token } = need
    const { name, url, timeout_ms } = row
    const secret = await openSupplierSecret(keyring, row)
    const asking = await record(new Date(clock.nowMs()))
    if (!asking) throw new LeaseLostError(`request to ${name} for ${order_id}`)
    const { sku, qty, attempts, round } = asking
    const request: FencedRequest = { account_id, order_id, line, supplier: name, round, fencing_token }
    const ask = { id: requestId(asking), sku, qty }
    const startedMs = performance.now()
    const span = need.span?.child('supplier call', 'client', {
      'http.request.method': 'POST',
      'shopwire.supplier': name,
      'shopwire.supplier_request_id': ask.id,
      'shopwire.attempt': attempts,
    })
    const answer = await askSupplier({ url, secret, timeout_ms }, ask, clock.nowMs(), deps.fetch)
    // An earlier call with this id may have been received.
    const reply = answer.kind === 'unsent' && attempts > 1 ? { ...answer, kind: 'failed' as const } : answer
    span?.set({ 'shopwire.outcome': reply.kind })
    span?.end(reply.kind === 'failed' || reply.kind === 'unsent' ? reply.error : undefined)
    observe(need, name, ask, attempts, reply, (performance.now() - startedMs) / 1000)
    if (reply.kind === 'failed' || reply.kind === 'unsent') breaker.failed(name, clock.nowMs())
    else breaker.succeeded(name)
    if (reply.kind === 'given') return { ...reply, supplier: name, round }
    const { kind: stage, error } = reply
    const written =
      stage === 'refused' || stage === 'unsent'
        ? await recordRefusal(db, request, { stage, error }, new Date(clock.nowMs()))
        : await recordFailure(db, request, { stage: stage === 'later' ? 'accepted' : 'unknown', error })
    // Another worker asks with the same id now, and the answer it gets counts.
    if (written === 0) throw new LeaseLostError(`request to ${name} for ${order_id}`)
    return reply
  }

  async function withinShare(name: string, ask: () => Promise<Reply>): Promise<Reply> {
    const before = running.get(name) ?? 0
    if (before >= asksMax) return { kind: 'later', error: 'busy with other orders' }
    running.set(name, before + 1)
    try {
      return await ask()
    } finally {
      running.set(name, (running.get(name) ?? 1) - 1)
    }
  }

  return async (need) => {
    const notes: string[] = []
    let isOpen = false
    for (const open of need.open) {
      const reply = await withinShare(open.supplier, () => askAgain(need, open))
      if (reply.kind === 'given') return reply
      notes.push(`supplier ${open.supplier}: ${reply.error}`)
      isOpen ||= !isFinal(reply)
    }
    const { supply } = need
    const refusers = need.open.map(({ supplier }) => supplier)
    for (const name of isOpen || !supply ? [] : [supply.supplier, supply.fallback]) {
      if (!supply || name === null || refusers.includes(name)) continue
      const reply = await withinShare(name, () => askFirst(need, supply, name))
      if (reply.kind === 'given') return reply
      notes.push(`supplier ${name}: ${reply.error}`)
      if (!isFinal(reply)) break
    }
    return { kind: 'not yet', note: notes.join('; ') }
  }
}

const KEEPS_FAILING = 'keeps failing'

const isFinal = ({ kind }: SupplierReply | Reply) => kind === 'refused' || kind === 'unsent'

/**
 * Records a new request before anything is sent: under a new id, unless the supplier never got the last one. Only for a paid order,
 * whose lock makes this wait for transactions that change the order; and only if no other worker has the job, and no request of the
 * line is open.
 */
function recordAsking(
  db: Db,
  need: Need,
  supply: ItemSupply,
  name: string,
  at: Date,
): Promise<Asking | undefined> {
  const { account_id, order_id, line, fencing_token, missing: qty } = need
  const unit_cost_cents = name === supply.supplier ? supply.cost_cents : supply.fallback_cost_cents
  return db.transaction(async (tx) => {
    if (!(await lockPaidOrder(tx, account_id, order_id))) return undefined
    await need.assertLease(tx)
    const before = await selectRequestsOfLine(tx, need)
    if (before.some(({ is_open }) => is_open)) return undefined
    const unsent = before.findLast(({ supplier, stage }) => supplier === name && stage === 'unsent')
    const round = unsent?.round ?? Math.max(0, ...before.map((request) => request.round)) + 1
    const place = { account_id, order_id, line, supplier: name, round, fencing_token }
    const wanted = { ...place, sku: supply.sku ?? supply.item_id, qty, unit_cost_cents }
    await forgetRefusals(tx, wanted, before.length)
    const asking = await (unsent ? reviveRequest : insertRequest)(tx, wanted, at)
    await countSpending(tx, name, expectedCost(wanted), at)
    return asking
  })
}

/** Operators choose the names, so there may be any number of them; a label must stay bounded. */
function boundedLabels(metrics: Pick<SupplyMetrics, 'supplierCalls'>) {
  const labels = new Set<string>()
  return (name: string) => {
    if (labels.has(name)) return name
    if (labels.size >= SUPPLIER_NAMES_MAX) return 'other'
    labels.add(name)
    for (const outcome of SUPPLIER_OUTCOMES) metrics.supplierCalls.inc({ supplier: name, outcome }, 0)
    return name
  }
}

/** Counts and logs every call. Never the URL, the secret or the links. */
function callObserver(
  log: Log,
  metrics: Pick<SupplyMetrics, 'supplierCalls' | 'supplierCallDuration'>,
  labelOf: (name: string) => string,
) {
  return (
    need: Need,
    name: string,
    { id, sku, qty }: SupplierAsk,
    attempt: number,
    reply: SupplierReply,
    seconds: number,
  ) => {
    const supplier = labelOf(name)
    metrics.supplierCalls.inc({ supplier, outcome: outcomeOf(reply) })
    metrics.supplierCallDuration.labels({ supplier }).observe(seconds)
    const line = {
      account_id: need.account_id,
      order_id: need.order_id,
      line: need.line,
      supplier: name,
      supplier_request_id: id,
      sku,
      qty,
      attempt,
      outcome: reply.kind,
      ...(reply.kind !== 'given' && { error: reply.error }),
      duration_ms: Math.round(seconds * 1000),
      next: nextOf(need, name, reply),
      ...need.span?.fields,
    }
    if (reply.kind === 'refused') log.warn(line, 'supplier call')
    else log.info(line, 'supplier call')
  }
}

function outcomeOf(reply: SupplierReply): SupplierOutcome {
  if (reply.kind === 'given') return 'given'
  return reply.error.startsWith('http_') ? 'http_error' : (reply.error as SupplierOutcome)
}

/** Which step follows; the fulfilment attempt says when. */
function nextOf({ supply, open }: Need, name: string, reply: SupplierReply): string {
  if (reply.kind === 'given') return 'links_recorded'
  if (!isFinal(reply)) return 'same_request_again'
  const asked = [...open.map(({ supplier }) => supplier), name]
  const others = [supply?.supplier, supply?.fallback].filter((each) => each && !asked.includes(each))
  return others.length > 0 && name !== supply?.fallback ? 'other_supplier_asked' : 'new_request_later'
}

/** It would refuse again, or is shut down. Without a fallback it is called all the same. */
function isPassedOver(before: SupplierRequest | undefined, supply: ItemSupply, name: string): boolean {
  if (supply.fallback === null || before === undefined) return false
  return before.error === GIVEN_UP || (before.error === SOLD_BEFORE && name !== supply.fallback)
}
