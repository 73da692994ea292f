import { lockMoney, refund } from '../../ledger/transfer.ts'
import type { Tx } from '../../platform/database/db.ts'
import { KekMissing } from '../../platform/encryption/encryption.ts'
import { newId } from '../../platform/text/ids.ts'
import { assert, refuse } from '../../platform/trouble.ts'
import { checkLink, type LinkVault } from '../../supply/gift-link.ts'
import type { Journal } from '../../supply/journal.ts'
import { markPools, returnToPool } from '../../supply/pool.ts'
import { insertSetAside, lockItemSupply } from '../../supply/queries.ts'
import { recordLinks } from '../../supply/record-links.ts'
import { selectIsOwed } from '../../supply/request-queries.ts'
import { recordEvent } from '../../webhooks/events.ts'
import {
  deleteOrderLinks,
  type HeldLinkRow,
  selectLostLink,
  selectOrderLinkHashes,
} from '../links/link-queries.ts'
import {
  countUnassigned,
  lockOrder,
  type OpenLine,
  type OrderRow,
  selectOpenLines,
  selectOrder,
  updateCancelled,
} from '../queries.ts'
import { finishDelivery, keepLinks, type OrderName } from './delivery.ts'
import { endOrderJob } from './waiting.ts'

/**
 * paid → cancelled, with the refund, in one commit. Idempotent. Links already assigned to the order go back to the pool, because
 * they were never shown. Locks in the order of LOCK_ORDER (service/testing/lock-order.ts): the event comes after the pools, because it
 * holds the account's webhook endpoint until the commit.
 */
export async function cancelOrder(
  tx: Tx,
  vault: LinkVault,
  order: OrderName,
  reason: string,
  nowMs: number,
  { althoughDelivered = false } = {},
): Promise<{ order: OrderRow; isNew: boolean }> {
  const { account_id, order_id } = order
  await lockMoney(tx, account_id)
  const locked = await lockOrder(tx, account_id, order_id)
  if (locked?.status !== 'paid') return { order: await finalOrder(tx, order, 'cancelled'), isNew: false }
  if (!althoughDelivered) await assertNotDeliveredBefore(tx, order)
  await updateCancelled(tx, account_id, order_id, new Date(nowMs), reason)
  await refund(tx, account_id, order_id, nowMs)
  const { is_owed } = await selectIsOwed(tx, account_id, order_id)
  const open = await selectOpenLines(tx, account_id, order_id)
  await giveBackLinks(tx, vault, order, nowMs)
  await recordEvent(tx, { type: 'order.cancelled', account_id, order_id }, nowMs)
  await endOrderJob(tx, order, is_owed)
  await countUnassigned(tx, minusMissing(open))
  return { order: await finalOrder(tx, order, 'cancelled'), isNew: true }
}

/** After a restore an order may be paid here although its customer has its links, as the journal shows. */
async function assertNotDeliveredBefore(tx: Tx, { account_id, order_id }: OrderName): Promise<void> {
  const lost = await selectLostLink(tx, account_id, order_id)
  if (lost)
    throw refuse(
      'conflict',
      `Order ${order_id} was delivered on ${lost.sold_at.toISOString().slice(0, 10)}, in a time that a restore lost: its customer has the ` +
        'links. Nothing was changed. Deliver it, which gives it the same links again; or repeat the command with ' +
        '--although-delivered to give the money back as well.',
    )
}

/**
 * paid → delivered with links from an operator: one for each unit that lacks one, in the order of the lines. The same links again
 * change nothing. Other links for a delivered order are refused; otherwise the operator would think that they were sold.
 */
export async function deliverByHand(
  tx: Tx,
  { vault, journal }: { vault: LinkVault; journal?: Journal | undefined },
  order: OrderName,
  links: readonly string[],
  nowMs: number,
): Promise<{ order: OrderRow; isNew: boolean }> {
  const { account_id, order_id } = order
  const locked = await lockOrder(tx, account_id, order_id)
  if (locked?.status !== 'paid') {
    const delivered = await finalOrder(tx, order, 'delivered')
    await assertSameLinks(tx, vault, delivered, links)
    return { order: delivered, isNew: false }
  }
  const open = await selectOpenLines(tx, account_id, order_id)
  const missing = open.reduce((sum, line) => sum + line.missing, 0)
  if (links.length !== missing) {
    const wanted = open.map((line) => `${line.missing} of item ${line.item_id}`).join(', ')
    throw refuse(
      'invalid_request',
      `The order lacks ${missing} links (${wanted}); ${links.length} were given.`,
    )
  }
  const checked = checkLinks(links)
  const hashes = checked.map((link) => vault.fingerprint(link))
  const isNew = await recordLinks(tx, hashes, nowMs, { order })
  if (isNew.includes(false)) {
    throw refuse(
      'invalid_request',
      'One of the links was in this store before, or appears twice. Each link is sold once.',
    )
  }
  const { is_owed } = await selectIsOwed(tx, account_id, order_id)
  let at = 0
  for (const line of open) {
    const given = checked.slice(at, at + line.missing)
    await keepLinks(tx, vault, { ...order, line: line.line }, line.held, given, 'hand', nowMs)
    at += line.missing
  }
  await finishDelivery(tx, journal, order, nowMs)
  await endOrderJob(tx, order, is_owed)
  await countUnassigned(tx, minusMissing(open))
  return { order: await finalOrder(tx, order, 'delivered'), isNew: true }
}

/** No unit of these lines waits for a link any more. */
const minusMissing = (open: readonly OpenLine[]) =>
  open.map(({ item_id, missing }) => ({ item_id, units: -missing }))

function checkLinks(links: readonly string[]): string[] {
  return links.map((link, n) => checkLink(link, `Link ${n + 1}`))
}

async function assertSameLinks(tx: Tx, vault: LinkVault, order: OrderRow, links: readonly string[]) {
  const given = checkLinks(links).map((link) => vault.fingerprint(link).toString('hex'))
  const rows = await selectOrderLinkHashes(tx, order.account_id, order.id)
  const hashes = rows.map(({ link_hash, source }) => ({ hash: link_hash.toString('hex'), source }))
  const byHand = hashes.filter(({ source }) => source === 'hand').map(({ hash }) => hash)
  if (given.length === byHand.length && given.every((hash, n) => hash === byHand[n])) return
  const used = given.filter((hash) => hashes.some((link) => link.hash === hash)).length
  throw refuse(
    'idempotency_conflict',
    `Order ${order.id} was delivered ${order.delivered_at?.toISOString()} with other links, or in another order. ` +
      `Nothing was changed. Of the ${given.length} links given now ${used} belong to it, the others were NOT used. ` +
      'To sell those, load them into a pool (pool load), which skips links that were in this store before. ' +
      `To see what was delivered: shopwire-admin orders show ${order.id} --reveal-links`,
  )
}

/** The order in its final state, if that is the requested one. */
async function finalOrder(
  tx: Tx,
  { account_id, order_id }: OrderName,
  wanted: OrderRow['status'],
): Promise<OrderRow> {
  const row = await selectOrder(tx, account_id, order_id)
  if (!row) throw refuse('not_found', `Account ${account_id} has no order ${order_id}.`)
  if (row.status !== wanted) {
    throw refuse('idempotency_conflict', `Order ${order_id} is ${row.status} already; that is final.`)
  }
  return row
}

async function giveBackLinks(tx: Tx, vault: LinkVault, order: OrderName, nowMs: number): Promise<void> {
  const held = await deleteOrderLinks(tx, order.account_id, order.order_id)
  if (held.length === 0) return
  const row = await selectOrder(tx, order.account_id, order.order_id)
  assert(row, 'a locked order exists')
  const lines = row.lines.filter(({ line }) => held.some((link) => link.line === line))
  const items = lines.map(({ id }) => id)
  // All at once and sorted, like every transaction that locks several pools.
  await lockItemSupply(tx, items)
  for (const line of lines) {
    const ofLine = held.filter((link) => link.line === line.line)
    const opened = await Promise.all(ofLine.map((link) => openHeld(vault, order, link)))
    const links = opened.filter((link) => link !== undefined)
    await returnToPool(tx, vault, line.id, links, nowMs)
    // A damaged link must not keep the customer's money. It cannot be sold, and an operator sees it: "shopwire-admin pool
    // set-aside".
    const damaged = ofLine.filter((_, n) => opened[n] === undefined)
    for (const { link_sealed, link_kek_id, link_hash } of damaged) {
      const at = new Date(nowMs)
      const link = {
        item_id: line.id,
        id: newId('pl', nowMs),
        link_sealed,
        link_kek_id,
        link_hash,
        loaded_at: at,
      }
      await insertSetAside(tx, link, at)
    }
  }
  await markPools(tx, items, nowMs)
}

/** Undefined when it is damaged. */
async function openHeld(vault: LinkVault, order: OrderName, held: HeldLinkRow): Promise<string | undefined> {
  try {
    return await vault.openFromOrder(held.link_sealed, { ...order, line: held.line, unit: held.unit })
  } catch (error) {
    // The row names the same key as the sealed bytes, so the key is missing in the configuration.
    if (error instanceof KekMissing && error.kekId === held.link_kek_id) throw error
    return undefined
  }
}
