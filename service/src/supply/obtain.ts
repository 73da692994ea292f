import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Keyring } from '../platform/encryption.ts'
import { LeaseLostError } from '../platform/jobs.ts'
import type { Log } from '../platform/log.ts'
import {
  type Metrics,
  SUPPLIER_NAMES_MAX,
  SUPPLIER_OUTCOMES,
  type SupplierOutcome,
} from '../platform/metrics.ts'
import { askSupplier, type SupplierAsk, type SupplierReply } from './ask-supplier.ts'
import { createBreaker } from './breaker.ts'
import {
  type Asking,
  type FencedRequest,
  GIVEN_UP,
  type ItemSupply,
  recordAsking,
  recordAskingAgain,
  recordEnd,
  recordFailure,
  requestId,
  SOLD_BEFORE,
  type SupplierRequest,
  type SupplierRow,
  selectRequest,
} from './queries.ts'
import { getSupplier, openSupplierSecret } from './suppliers.ts'

/** What one line of an order still needs from suppliers. */
export interface Need {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  /** Requests of the line that were sent and have no final answer yet. */
  readonly open: readonly Pick<SupplierRequest, 'supplier'>[]
  /** Which suppliers to ask for what is missing; none when undefined. */
  readonly supply: ItemSupply | undefined
  readonly missing: number
  /** The number of the lease under which suppliers are asked. */
  readonly fencing_token: number
}

export type Obtained =
  | { readonly kind: 'given'; readonly links: readonly string[]; readonly supplier: string }
  | { readonly kind: 'not yet'; readonly note: string }

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
  metrics: Pick<Metrics, 'supplierCalls' | 'supplierCallDuration'>
}): ObtainFromSuppliers {
  const { db, keyring, clock, asksMax } = deps
  const breaker = createBreaker()
  const observe = callObserver(deps)
  const running = new Map<string, number>()

  /** Also while the supplier is paused: a pause stops new requests, and this one may have been charged. */
  async function askAgain(need: Need, name: string): Promise<SupplierReply> {
    if (!breaker.allows(name, clock.nowMs())) return { kind: 'later', error: KEEPS_FAILING }
    return send(need, await getSupplier(db, name), (request, at) => recordAskingAgain(db, request, at))
  }

  async function askFirst(need: Need, supply: ItemSupply, name: string): Promise<SupplierReply> {
    const row = await getSupplier(db, name)
    if (row.is_paused) return { kind: 'unsent', error: 'paused' }
    if (!breaker.allows(name, clock.nowMs())) return { kind: 'unsent', error: KEEPS_FAILING }
    const before = await selectRequest(db, { ...need, supplier: name })
    if (isPassedOver(before, supply, name)) return { kind: 'refused', error: String(before?.error) }
    const wanted = { sku: supply.sku ?? supply.item_id, qty: need.missing }
    return send(need, row, (request, at) => recordAsking(db, { ...request, ...wanted }, at))
  }

  async function send(
    need: Need,
    row: SupplierRow,
    record: (request: FencedRequest, at: Date) => Promise<Asking | undefined>,
  ): Promise<SupplierReply> {
    const { account_id, order_id, line, fencing_token } = need
    const { name, url, timeout_ms } = row
    const request = { account_id, order_id, line, supplier: name, fencing_token }
    const secret = await openSupplierSecret(keyring, row)
    const asking = await record(request, new Date(clock.nowMs()))
    if (!asking) throw new LeaseLostError(`request to ${name} for ${order_id}`)
    const { sku, qty, attempts } = asking
    const ask = { id: requestId(asking), sku, qty }
    const startedMs = performance.now()
    const answer = await askSupplier({ url, secret, timeout_ms }, ask, clock.nowMs(), deps.fetch)
    // An earlier call with this id may have been received.
    const reply = answer.kind === 'unsent' && attempts > 1 ? { ...answer, kind: 'failed' as const } : answer
    observe(need, name, ask, attempts, reply, (performance.now() - startedMs) / 1000)
    if (reply.kind === 'failed' || reply.kind === 'unsent') breaker.failed(name, clock.nowMs())
    else breaker.succeeded(name)
    if (reply.kind === 'given') return reply
    const written =
      reply.kind === 'refused' || reply.kind === 'unsent'
        ? await recordEnd(db, request, reply.kind, reply.error)
        : await recordFailure(db, request, reply.error, reply.kind === 'failed')
    // Another worker asks with the same id now, and the answer it gets counts.
    if (written === 0) throw new LeaseLostError(`request to ${name} for ${order_id}`)
    return reply
  }

  async function withinShare(name: string, ask: () => Promise<SupplierReply>): Promise<SupplierReply> {
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
      const reply = await withinShare(open.supplier, () => askAgain(need, open.supplier))
      if (reply.kind === 'given') return { kind: 'given', links: reply.links, supplier: open.supplier }
      notes.push(`supplier ${open.supplier}: ${reply.error}`)
      isOpen ||= !isFinal(reply)
    }
    const { supply } = need
    const refusers = need.open.map(({ supplier }) => supplier)
    for (const name of isOpen || !supply ? [] : [supply.supplier, supply.fallback]) {
      if (!supply || name === null || refusers.includes(name)) continue
      const reply = await withinShare(name, () => askFirst(need, supply, name))
      if (reply.kind === 'given') return { kind: 'given', links: reply.links, supplier: name }
      notes.push(`supplier ${name}: ${reply.error}`)
      if (!isFinal(reply)) break
    }
    return { kind: 'not yet', note: notes.join('; ') }
  }
}

const KEEPS_FAILING = 'keeps failing'

const isFinal = ({ kind }: SupplierReply) => kind === 'refused' || kind === 'unsent'

/** Counts and logs every call. Never the URL, the secret or the links. */
function callObserver({ log, metrics }: Parameters<typeof createObtainer>[0]) {
  const labels = new Set<string>()
  /** Operators choose the names, so there may be any number of them; a label must stay bounded. */
  const labelOf = (name: string) => {
    if (labels.has(name)) return name
    if (labels.size >= SUPPLIER_NAMES_MAX) return 'other'
    labels.add(name)
    for (const outcome of SUPPLIER_OUTCOMES) metrics.supplierCalls.inc({ supplier: name, outcome }, 0)
    return name
  }
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

/** It would refuse again, or is gone for good. Without a fallback it is asked all the same. */
function isPassedOver(before: SupplierRequest | undefined, supply: ItemSupply, name: string): boolean {
  if (supply.fallback === null || before?.state !== 'refused') return false
  return before.error === GIVEN_UP || (before.error === SOLD_BEFORE && name !== supply.fallback)
}
