/**
 * The lifecycle of a request to a supplier. From the moment it is recorded we may have to pay for it, until it has ended. The
 * database has the same transitions (functions/supply/advance_supplier_request.sql) and refuses all others.
 */
export const TRANSITIONS = {
  /** Recorded, and perhaps sent. */
  requested: ['accepted', 'unknown', 'fulfilled', 'collected', 'refused', 'unsent', 'written_off'],
  /** The supplier is making the links. */
  accepted: ['fulfilled', 'collected', 'refused', 'written_off'],
  /** Sent, and no answer or an invalid one. */
  unknown: ['accepted', 'fulfilled', 'collected', 'refused', 'written_off'],
  /** The links came, and at least one went to the order. */
  fulfilled: [],
  /** The links came when the order no longer needed them, and went to the pool. */
  collected: [],
  /** The supplier will not deliver. */
  refused: [],
  /** It certainly received nothing; the same id may be sent later. */
  unsent: ['requested'],
  /** An operator decided not to wait any longer. The supplier may still send a bill, and the links can be asked for once more. */
  written_off: ['collected', 'refused'],
} as const satisfies Record<string, readonly string[]>

export type Stage = keyof typeof TRANSITIONS

/** One request, as its row is named. */
export interface RequestName {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  readonly supplier: string
  /** From 1 for each line, over all suppliers. */
  readonly round: number
}

/** The id that the supplier sees: our order and line and, from the second request for a line on, its number. */
export const requestId = ({ order_id, line, round }: Pick<RequestName, 'order_id' | 'line' | 'round'>) =>
  `${order_id}-${line}${round > 1 ? `-${round}` : ''}`

/** Undefined when the text is no id of a request. */
export function parseRequestId(text: string): Pick<RequestName, 'order_id' | 'line' | 'round'> | undefined {
  const [, order_id, line, round = '1'] = /^(ord_[a-z0-9]+)-(\d{1,2})(?:-(\d{1,5}))?$/.exec(text) ?? []
  return order_id === undefined ? undefined : { order_id, line: Number(line), round: Number(round) }
}

/** Recorded with every link, permanently: the request that it came from. */
export const makerOf = (request: RequestName) => `${request.supplier}/${requestId(request)}`

export interface Price {
  readonly qty: number
  readonly unit_cost_cents: number | null
}

/** What the whole request was expected to cost. */
export const expectedCost = ({ qty, unit_cost_cents }: Price) =>
  unit_cost_cents === null ? null : unit_cost_cents * qty

/** What is owed: the supplier's own total, or else the expected cost; not for links that this store had held before. */
export function costOf(price: Price, said_cents: number | null, newLinks: number): number | null {
  const whole = said_cents ?? expectedCost(price)
  return whole === null ? null : Math.round((whole * newLinks) / price.qty)
}
