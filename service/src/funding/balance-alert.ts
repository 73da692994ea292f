import { getAccount } from '../accounts/account.ts'
import { readBurn } from '../ledger/statement.ts'
import { readBalance } from '../ledger/transfer.ts'
import type { Clock } from '../platform/clock.ts'
import { type Db, type Queryable, sql, type Tx } from '../platform/database/db.ts'
import type { Notify } from '../platform/mail/notify.ts'
import { selectConfirmed } from './alert-addresses.ts'
import { alertLetter, alertLetterToOthers } from './letters.ts'

export type AlertState = 'ok' | 'approaching' | 'below'
export type AlertStep = 'approaching' | 'below' | 'recovered'

export interface BalanceAlert {
  readonly account_id: string
  readonly threshold_cents: number | null
  readonly updated_at: Date
  readonly state: AlertState
  readonly state_threshold_cents: number | null
  readonly state_since: Date | null
  readonly mails_since: Date | null
  readonly mails_count: number
}

const BATCH = 500
const DAY_MS = 86_400_000
/** Per account and day, so each address gets no more mails from it: down and up again twice. */
export const ALERT_MAILS_PER_DAY_MAX = 6

/**
 * The next state at this balance: approaching at one and a half times the threshold, below at the threshold, and back to ok only at
 * twice the threshold. In between it does not change, so a balance that moves around a limit causes one mail, not one a minute.
 */
export function nextState(state: AlertState, balance_cents: number, threshold_cents: number): AlertState {
  if (balance_cents <= threshold_cents) return 'below'
  if (balance_cents >= 2 * threshold_cents) return 'ok'
  if (state === 'ok') return 2 * balance_cents <= 3 * threshold_cents ? 'approaching' : 'ok'
  return state
}

/** Writes one mail for each step of each account, and returns how many accounts changed. */
export async function checkBalances(
  deps: { readonly db: Db; readonly clock: Clock; readonly notify: Notify },
  isStopped: () => boolean = () => false,
): Promise<number> {
  let changed = 0
  let after = ''
  while (!isStopped()) {
    const rows = await selectChanging(deps.db, after, BATCH)
    for (const { account_id } of rows) changed += (await checkBalance(deps, account_id)) ? 1 : 0
    if (rows.length < BATCH) return changed
    after = rows.at(-1)?.account_id ?? after
  }
  return changed
}

/** Decided under the lock of the alert, so two workers send one mail. */
function checkBalance(
  { db, clock, notify }: { db: Db; clock: Clock; notify: Notify },
  account_id: string,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const nowMs = clock.nowMs()
    const alert = await lockAlert(tx, account_id)
    if (!alert || alert.threshold_cents === null) return false
    const { threshold_cents } = alert
    const balance_cents = await readBalance(tx, account_id)
    // With a new threshold the old state means nothing.
    const isSameThreshold = alert.state_threshold_cents === threshold_cents
    const state = nextState(isSameThreshold ? alert.state : 'ok', balance_cents, threshold_cents)
    if (state === alert.state && isSameThreshold) return false
    const news = state !== 'ok' ? state : isSameThreshold ? 'recovered' : undefined
    const step = state === alert.state ? undefined : news
    const day = mailsOfDay(alert, nowMs)
    // The state does not change, so no alert is missed: the mail is sent the next day, if it still applies then.
    if (step !== undefined && day.count >= ALERT_MAILS_PER_DAY_MAX) return false
    await updateState(tx, account_id, state, threshold_cents, new Date(nowMs))
    if (step === undefined) return true
    await updateMails(tx, account_id, day.since, day.count + 1)
    await send(tx, alert, step, { balance_cents, threshold_cents }, notify, nowMs)
    return true
  })
}

/** A day begins with its first mail. */
function mailsOfDay({ mails_since, mails_count }: BalanceAlert, nowMs: number) {
  return mails_since !== null && nowMs < mails_since.getTime() + DAY_MS
    ? { since: mails_since, count: mails_count }
    : { since: new Date(nowMs), count: 0 }
}

async function send(
  tx: Tx,
  { account_id }: BalanceAlert,
  step: AlertStep,
  at: { balance_cents: number; threshold_cents: number },
  notify: Notify,
  nowMs: number,
) {
  const account = await getAccount(tx, account_id)
  const burn = await readBurn(tx, account_id, account.created_at, nowMs)
  const emails = (await selectConfirmed(tx, account_id)).map(({ email }) => email)
  const facts = { ...at, burn }
  const outside = { emails, letter: alertLetterToOthers(account, step, facts) }
  await notify(tx, account_id, 'balance_alert', alertLetter(account, step, facts), outside)
}

export const selectAlert = (db: Queryable, account_id: string) =>
  db.maybeOne<BalanceAlert>(sql`
    select account_id, threshold_cents, updated_at, state, state_threshold_cents, state_since, mails_since, mails_count
      from balance_alerts
     where account_id = ${account_id}`)

/** Only columns that the dashboard's role may write. */
export const upsertAlert = (
  tx: Queryable,
  alert: Pick<BalanceAlert, 'account_id' | 'threshold_cents' | 'updated_at'>,
) =>
  tx.run(sql`
    insert into balance_alerts (account_id, threshold_cents, updated_at)
    values (${alert.account_id}, ${alert.threshold_cents}, ${alert.updated_at})
        on conflict (account_id) do update
       set threshold_cents = excluded.threshold_cents,
           updated_at = excluded.updated_at`)

/** The same conditions as `nextState`, so that a run over all accounts returns only those whose state changes. */
const selectChanging = (db: Queryable, after: string, limit: number) =>
  db.many<{ account_id: string }>(sql`
    select a.account_id
      from balance_alerts a
      join balances b on b.account_id = a.account_id
     where a.account_id > ${after}
       and a.threshold_cents is not null
       and (a.state_threshold_cents is distinct from a.threshold_cents
            or (a.state <> 'below' and b.balance_cents <= a.threshold_cents)
            or (a.state = 'ok' and 2 * b.balance_cents <= 3 * a.threshold_cents)
            or (a.state <> 'ok' and b.balance_cents >= 2 * a.threshold_cents))
     order by a.account_id
     limit ${limit}`)

const lockAlert = (tx: Queryable, account_id: string) =>
  tx.maybeOne<BalanceAlert>(sql`
    select account_id, threshold_cents, updated_at, state, state_threshold_cents, state_since, mails_since, mails_count
      from balance_alerts
     where account_id = ${account_id}
       for update`)

const updateState = (
  tx: Queryable,
  account_id: string,
  state: AlertState,
  threshold_cents: number,
  since: Date,
) =>
  tx.run(sql`
    update balance_alerts
       set state = ${state},
           state_threshold_cents = ${threshold_cents},
           state_since = ${since}
     where account_id = ${account_id}`)

const updateMails = (tx: Queryable, account_id: string, since: Date, count: number) =>
  tx.run(sql`
    update balance_alerts
       set mails_since = ${since},
           mails_count = ${count}
     where account_id = ${account_id}`)
