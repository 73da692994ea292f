import type { Order } from '../types.ts'

export type OrderState = Pick<Order, 'id' | 'status'> & { readonly links?: readonly string[] | undefined }

/**
 * Of two views of one order, the one to keep. Events come in any order: `order.accepted` may arrive after `order.delivered`,
 * and storing it would take the links away again.
 */
export function latest<State extends OrderState>(current: State | null | undefined, incoming: State): State {
  return current && !isNewer(incoming, current) ? current : incoming
}

/** Whether `incoming` is a later state than `current`. Delivered and cancelled are final: nothing is newer than they are. */
export function isNewer(incoming: OrderState, current: OrderState): boolean {
  if (incoming.id !== current.id) {
    throw new TypeError(`These are two orders, ${current.id} and ${incoming.id}: neither replaces the other.`)
  }
  if (current.status === 'paid') return incoming.status !== 'paid'
  // A key without orders:read sees a delivered order without its links.
  return incoming.status === current.status && count(incoming.links) > count(current.links)
}

function count(links: readonly string[] | undefined): number {
  return links?.length ?? 0
}
