import type { Tx } from '../../platform/database/db.ts'
import { assert } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import type { Journal } from '../../supply/journal.ts'
import { recordEvent } from '../../webhooks/events.ts'
import { insertOrderLinks, type OrderLineName, selectForJournal } from '../links/link-queries.ts'
import { updateDelivered } from '../queries.ts'

export interface OrderName {
  readonly account_id: string
  readonly order_id: string
}

/** Assigns links to the open units of a line. They are not shown until the whole order is delivered. */
export async function keepLinks(
  tx: Tx,
  vault: LinkVault,
  line: OrderLineName,
  /** Units of the line that already have a link. */
  held: number,
  links: readonly string[],
  source: string,
  nowMs: number,
): Promise<void> {
  if (links.length === 0) return
  const sealed = await Promise.all(
    links.map(async (link, n) => {
      const unit = held + n + 1
      return { unit, ...(await vault.sealForOrder(link, { ...line, unit })) }
    }),
  )
  await insertOrderLinks(tx, line, sealed, { source, obtained_at: new Date(nowMs) })
}

/**
 * paid → delivered, with its event. Every unit must have its link; the order's row must be locked and paid. From the commit on
 * callers see the links, so they must be in the journal before this resolves; the journal is written while the database works. The
 * event comes last: it locks rows that the account's other orders need, and these, with the other orders of their batch, would wait
 * for the disk too.
 */
export async function finishDelivery(
  tx: Tx,
  journal: Journal | undefined,
  order: OrderName,
  nowMs: number,
): Promise<void> {
  const journalled = journal && (await beginJournalling(tx, journal, order, nowMs))
  const changed = await updateDelivered(tx, order.account_id, order.order_id, new Date(nowMs))
  assert(changed === 1, `order ${order.order_id} was paid when it was delivered`)
  await journalled?.written
  await recordEvent(tx, { type: 'order.delivered', ...order }, nowMs)
}

async function beginJournalling(tx: Tx, journal: Journal, order: OrderName, nowMs: number) {
  const links = await selectForJournal(tx, order.account_id, order.order_id)
  const written = journal.append(links.map((link) => ({ ...order, ...link, at: new Date(nowMs) })))
  // It is awaited after statements that may fail first; its rejection would then be unhandled.
  written.catch(() => {})
  return { written }
}
