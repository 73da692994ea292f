import { type Account, getAccount } from '../../accounts/account.ts'
import { lockMoney } from '../../ledger/transfer.ts'
import { type Db, sql, type Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import type { Letter } from '../../platform/mail/letter.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { isolated } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import { selectOwners } from '../../sessions/members.ts'
import { stopEndpoint } from '../../webhooks/endpoint.ts'

/** Rows of each large table, at a time. */
const ERASE_CHUNK = 1_000

export interface Closed {
  readonly account: Account
  /** False when it was closed before; nothing was done. */
  readonly isNew: boolean
}

/**
 * Closes an account permanently: no key, token, person or webhook of it works afterwards, and no money comes in. Refused while
 * anything is still open. Locks in the order of LOCK_ORDER (service/testing/lock-order.ts). The checks run under the lock of the
 * account's row: whatever could still be added waits for that lock (functions/access/refuse_if_closed.sql).
 */
export async function closeAccount(
  tx: Tx,
  keyring: Keyring,
  account_id: string,
  reason: string,
  nowMs: number,
): Promise<Closed> {
  await lockMoney(tx, account_id)
  const before = await getAccount(tx, account_id)
  if (before.closed_at) return { account: before, isNew: false }
  const at = new Date(nowMs)
  await revokeAccess(tx, account_id, at)
  const account = await markClosed(tx, account_id, at)
  const obstacles = await selectObstacles(tx, account_id)
  const problems = problemsOf(account_id, obstacles)
  if (problems.length > 0)
    throw refuse(
      'conflict',
      `Account ${account_id} cannot be closed yet, and nothing was changed:\n${problems.map((one) => `  - ${one}`).join('\n')}`,
    )
  await stopEndpoint(tx, account_id, nowMs)
  // Before the memberships end: afterwards the owners are unknown.
  for (const { email } of await selectOwners(tx, account_id))
    await queueMail(tx, keyring, { to: email, account_id, letter: closedLetter(account, reason) }, nowMs)
  await endMemberships(tx, account_id, at)
  return { account, isNew: true }
}

/** Erases names, addresses and people of a closed account, in several transactions; if interrupted, the next call finishes it. */
export async function eraseAccountRows(db: Db, account_id: string): Promise<void> {
  const { closed_at } = await getAccount(db, account_id)
  if (!closed_at)
    throw refuse(
      'conflict',
      `Account ${account_id} is not closed. Erasing cannot be undone, so close it first: shopwire-admin accounts close ${account_id} --reason <why>`,
    )
  for (let [after, afterEvent] = ['', '']; ; ) {
    const { last_id, last_event_id, rows } = await db.commit<{
      last_id: string
      last_event_id: string
      rows: number
    }>(sql`
      select last_id, last_event_id, rows
        from erase_account_rows(${account_id}, ${after}, ${afterEvent}, ${ERASE_CHUNK})`)
    if (rows === 0) return
    after = last_id
    afterEvent = last_event_id
  }
}

export const eraseAccountTexts = (tx: Tx, account_id: string, nowMs: number) =>
  tx.one<{ people: number }>(sql`select erase_account(${account_id}, ${new Date(nowMs)}) as people`)

async function revokeAccess(tx: Tx, account_id: string, at: Date): Promise<void> {
  await tx.run(sql`
    update api_keys
       set revoked_at = ${at}
     where account_id = ${account_id}
       and revoked_at is null`)
  await tx.run(sql`
    update personal_tokens
       set revoked_at = ${at}
     where account_id = ${account_id}
       and revoked_at is null`)
  await tx.run(sql`
    update balance_alerts
       set threshold_cents = null
     where account_id = ${account_id}`)
}

const markClosed = (tx: Tx, account_id: string, at: Date) =>
  tx.one<Account>(sql`
    with held as materialized (
      select id
        from accounts
       where id = ${account_id}
         for update
    )
    update accounts a
       set status = 'suspended', closed_at = ${at}, access_version = a.access_version + 1,
           closed_people = array(select m.person_id from memberships m where m.account_id = a.id order by m.person_id)
      from held h
     where a.id = h.id
    returning a.id, a.name, a.status, a.access_version, a.created_at, a.closed_at`)

interface Obstacles {
  readonly balance_cents: number
  readonly orders: number
  readonly owed_cents: number
  readonly top_ups: number
  readonly reviews: number
  readonly requests: number
  readonly keys: number
}

const selectObstacles = (tx: Tx, account_id: string) =>
  tx.one<Obstacles>(sql`
    select (select b.balance_cents from balances b where b.account_id = a.id) as balance_cents,
           (select count(*) from paid_orders o where o.account_id = a.id) as orders,
           (select coalesce(sum(r.owed_cents), 0)::bigint from top_up_reversals r where r.account_id = a.id) as owed_cents,
           (select count(*) from top_ups t where t.account_id = a.id and t.state in ('pending', 'review')) as top_ups,
           (select count(*) from payment_reviews p where p.account_id = a.id and p.decided_at is null and p.gone_at is null) as reviews,
           (select count(*) from supplier_requests s where s.account_id = a.id and s.ended_at is null) as requests,
           (select count(*) from api_keys k where k.account_id = a.id and k.revoked_at is null) as keys
      from accounts a
     where a.id = ${account_id}`)

/** Each with what to do about it. */
function problemsOf(account_id: string, found: Obstacles): string[] {
  const cents = (amount: number) => (amount / 100).toFixed(2)
  return [
    found.orders > 0 &&
      `${found.orders} order(s) are paid and not delivered: deliver or cancel them ("shopwire-admin orders waiting" lists them).`,
    found.requests > 0 &&
      `${found.requests} request(s) to suppliers are open: collect them or give them up ("shopwire-admin suppliers unsettled").`,
    found.top_ups > 0 &&
      `${found.top_ups} top-up(s) are open: confirm or reject them ("shopwire-admin topups list").`,
    found.reviews > 0 &&
      `${found.reviews} of its payments need a decision by an operator: see "shopwire-admin topups list".`,
    found.owed_cents > 0 &&
      `it owes $${cents(found.owed_cents)}: collect it or write it off ("shopwire-admin topups owed").`,
    found.balance_cents > 0 &&
      `$${cents(found.balance_cents)} are on its balance: pay them out, then book it with "shopwire-admin accounts adjust ${account_id} ` +
        `--reference <payment> --note payout -- -${cents(found.balance_cents)}".`,
    found.keys > 0 && 'a key was made at the same moment: run the command again.',
  ].filter((one) => one !== false)
}

async function endMemberships(tx: Tx, account_id: string, at: Date): Promise<void> {
  await tx.run(sql`
    update invitations
       set withdrawn_at = ${at}
     where account_id = ${account_id}
       and accepted_at is null
       and withdrawn_at is null`)
  await tx.run(sql`
    delete from memberships
     where account_id = ${account_id}`)
  // People of other accounts are switched to one of those; the others have no account left to be signed in to.
  await tx.run(sql`
    delete from sessions s
     where s.account_id = ${account_id}
       and not exists (select from memberships m where m.person_id = s.person_id)`)
  await tx.run(sql`
    update sessions
       set account_id = null
     where account_id = ${account_id}`)
}

export function closedLetter({ id, name }: Pick<Account, 'id' | 'name'>, reason: string): Letter {
  return {
    subject: `The account ${id} is closed`,
    headline: `The store has closed the account "${isolated(name)}".`,
    paragraphs: [
      'Its API keys, tokens and webhook no longer work, nobody can sign in to it any more, and it cannot be opened again. Nothing was ' +
        'left on its balance.',
    ],
    facts: [
      ['Account', id],
      ['Reason', isolated(reason)],
    ],
    footer: ['If you did not expect this, write to the store.'],
  }
}
