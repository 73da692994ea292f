import type { Command } from 'commander'
import { problemsOf, readBackupStatus } from '../../operations/backup-status.ts'
import { OPERATOR_TOKEN_DAYS_WARNED } from '../../operations/operator-tokens.ts'
import type { StoreStatus } from '../../operations/store-status.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { age, day, print, printable } from '../terminal/print.ts'

/** Something needs attention. Thrown after the page was printed, for the exit code. */
class NeedsAttentionError extends Error {
  override readonly name = 'NeedsAttentionError'
}

const DAY_S = 86_400
/** From these limits on the alerts of docs/runbooks/alerts.md fire too. */
const DUE_S_MAX = 60
const WAITING_S_MAX = 3_600
const MAIL_S_MAX = 900
const VERIFY_AGE_S_MAX = 8 * DAY_S
const CERTIFICATE_DAYS_MIN = 14
const NOT_KNOWN = 'not known'

interface Elsewhere {
  /** What is wrong with the backups; undefined when nothing is recorded where this command runs. */
  readonly backups: { readonly last: string | null; readonly problems: readonly string[] } | undefined
  /** Days left of the certificate of the API's address; undefined when it cannot be read. */
  readonly certificate_days: number | undefined
  /** The expiry of the operator's own token; undefined without a token. */
  readonly token_ends_at: Date | undefined
}

export function statusCommand(
  program: Command,
  context: CommandContext,
  tokenEndsAt: () => Date | undefined,
): void {
  program
    .command('status')
    .description('all well? The whole store on one page; exits with 1 when something needs attention')
    .action(async (_options, command: Command) => {
      const [status, backups, certificate_days] = await Promise.all([
        context.reads().readStoreStatus(),
        readBackups(context),
        context.certificateDays().catch(() => undefined),
      ])
      const elsewhere: Elsewhere = { backups, certificate_days, token_ends_at: tokenEndsAt() }
      const attention = attentionOf(status, elsewhere)
      const json = {
        ok: attention.length === 0,
        attention,
        ...status,
        backups: backups ?? null,
        certificate_days: certificate_days ?? null,
        token_ends_at: elsewhere.token_ends_at ?? null,
      }
      print(command, context, json, () => describe(status, elsewhere, attention))
      if (attention.length > 0)
        throw new NeedsAttentionError(
          attention.length === 1
            ? 'one thing needs attention.'
            : `${attention.length} things need attention.`,
        )
    })
}

async function readBackups(context: CommandContext): Promise<Elsewhere['backups']> {
  const status = await readBackupStatus(context.backupState())
  if (!status) return undefined
  const present = await context.reads().systemIdentifier()
  const last = [status.last_full, status.last_diff].flatMap((one) => (one ? [one.finished_at] : [])).sort()
  return { last: last.at(-1) ?? null, problems: problemsOf(status, context.nowMs(), present) }
}

/** Each with the command that shows more, or fixes it. */
function attentionOf(status: StoreStatus, { backups, certificate_days, token_ends_at }: Elsewhere): string[] {
  const { store, workers, queues, waiting, pools, suppliers, mail, verified, now } = status
  const dead = queues.reduce((sum, queue) => sum + queue.dead, 0)
  const paused = suppliers.filter(({ is_paused }) => is_paused).map(({ name }) => name)
  const verifiedS = verified === null ? undefined : (now.getTime() - verified.at.getTime()) / 1_000
  const found: [boolean, string][] = [
    [!store.is_database_confirmed, 'the database was restored or failed over: recover status'],
    [!store.is_open && store.is_database_confirmed, 'the store takes no orders: store show'],
    [workers.alive === 0, 'no worker runs: orders are accepted and not delivered'],
    ...queues.map(({ queue, oldest_due_s }): [boolean, string] => [
      oldest_due_s > DUE_S_MAX,
      `work of the queue "${queue}" has been due for ${age(oldest_due_s)}: start more workers, or check their log`,
    ]),
    [dead > 0, `${counted(dead, 'job')} failed too often and will not be tried again: jobs dead`],
    [
      waiting.oldest_s > WAITING_S_MAX,
      `an order has been waiting for ${age(waiting.oldest_s)}: orders waiting`,
    ],
    [pools.empty > 0, `${counted(pools.empty, 'pool')} empty: pool levels --low`],
    [pools.low > pools.empty, `${counted(pools.low - pools.empty, 'pool')} low: pool levels --low`],
    [paused.length > 0, `paused suppliers: ${paused.join(', ')} (suppliers resume)`],
    [status.refund_rule.held_at !== null, 'the refund rule has stopped at its limit: refunds release'],
    [
      status.removals_held.length > 0,
      `removal of ${status.removals_held.join(', ')} has stopped: removals show`,
    ],
    [status.payment_reviews > 0, `${counted(status.payment_reviews, 'payment')} to decide: topups list`],
    [
      mail.oldest_s > MAIL_S_MAX,
      `mail has been waiting for ${age(mail.oldest_s)}: check the log of the workers`,
    ],
    [
      (verified?.rules_violated ?? 0) > 0,
      `${counted(verified?.rules_violated ?? 0, 'rule')} violated: verify`,
    ],
    [
      verifiedS === undefined || verifiedS > VERIFY_AGE_S_MAX,
      `the data was ${verifiedS === undefined ? 'never checked' : `last checked ${age(verifiedS)} ago`}: verify`,
    ],
    ...(backups?.problems ?? []).map((problem): [boolean, string] => [true, problem]),
    [
      certificate_days !== undefined && certificate_days < CERTIFICATE_DAYS_MIN,
      `the certificate of the API ends in ${Math.floor(certificate_days ?? 0)} days: let the proxy renew it`,
    ],
    [
      token_ends_at !== undefined && daysUntil(token_ends_at, now) < OPERATOR_TOKEN_DAYS_WARNED,
      `your operator token ends in ${Math.floor(daysUntil(token_ends_at ?? now, now))} days: operators add`,
    ],
  ]
  return found.filter(([isSo]) => isSo).map(([, text]) => text)
}

const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`

const daysUntil = (at: Date, now: Date) => (at.getTime() - now.getTime()) / (DAY_S * 1_000)

function describe(status: StoreStatus, elsewhere: Elsewhere, attention: readonly string[]): string {
  const { store, workers, queues, waiting, pools, suppliers, verified, now } = status
  const { backups, certificate_days, token_ends_at } = elsewhere
  const facts: [string, string | readonly string[]][] = [
    ['Store', describeStore(store)],
    ['Workers', describeWorkers(workers)],
    ['Queue', queues.length === 0 ? 'empty' : queues.map(describeQueue)],
    [
      'Waiting',
      waiting.orders === 0
        ? 'no order'
        : [
            `${counted(waiting.orders, 'order')}, the oldest for ${age(waiting.oldest_s)}`,
            ...waiting.causes.map(
              ({ cause, orders }) => `${String(orders).padStart(5)}  ${printable(cause)}`,
            ),
          ],
    ],
    [
      'Pools',
      pools.named.length === 0
        ? 'none is low'
        : [
            `${pools.low} below their mark, ${pools.empty} empty`,
            ...pools.named.map(
              ({ item_id, name, pool_left }) =>
                `${String(pool_left).padStart(5)}  ${item_id}${name === null ? '' : ` ${printable(name)}`}`,
            ),
          ],
    ],
    [
      'Suppliers',
      suppliers.length === 0
        ? 'none'
        : suppliers.map(
            ({ name, is_paused, unsettled, oldest_s }) =>
              `${name}: ${is_paused ? 'PAUSED' : 'asked'}` +
              (unsettled > 0
                ? `, ${counted(unsettled, 'request')} open, the oldest for ${age(oldest_s)}`
                : ''),
          ),
    ],
    [
      'Backups',
      backups === undefined
        ? NOT_KNOWN
        : `last ${backups.last === null ? 'never' : utc(new Date(backups.last))}`,
    ],
    [
      'Verified',
      verified === null
        ? 'never'
        : `${utc(verified.at)}, ${verified.rules_violated === 0 ? 'all rules hold' : `VIOLATED: ${verified.rules_violated}`}`,
    ],
    ['Certificate', certificate_days === undefined ? NOT_KNOWN : `${Math.floor(certificate_days)} days left`],
    [
      'Your token',
      token_ends_at === undefined
        ? NOT_KNOWN
        : `${Math.floor(daysUntil(token_ends_at, now))} days left, until ${utc(token_ends_at)}`,
    ],
  ]
  const width = Math.max(...facts.map(([name]) => name.length)) + 2
  const page = facts.flatMap(([name, text]) =>
    [text].flat().map((line, n) => `${(n === 0 ? name : '').padEnd(width)}${line}`),
  )
  const verdict =
    attention.length === 0
      ? 'All is well.'
      : ['Needs attention:', ...attention.map((one) => `  ${printable(one)}`)].join('\n')
  return [...page, '', verdict].join('\n')
}

const utc = (at: Date) => `${day(at)} UTC`

function describeStore({
  is_open,
  is_database_confirmed,
  is_closed_by_operator,
  reason,
}: StoreStatus['store']): string {
  if (is_open) return 'open'
  if (!is_database_confirmed) return 'CLOSED: its database was restored, failed over or not compared yet'
  if (!is_closed_by_operator) return 'CLOSED: a planned window'
  return `CLOSED${reason === null ? '' : `: ${printable(reason)}`}`
}

function describeWorkers({ alive, last_seen_s }: StoreStatus['workers']): string {
  if (alive > 0) return String(alive)
  return last_seen_s === null ? 'NONE has ever run' : `NONE: the last one was seen ${age(last_seen_s)} ago`
}

function describeQueue({
  queue,
  due,
  leased,
  scheduled,
  parked,
  dead,
}: StoreStatus['queues'][number]): string {
  return `${queue}: ${due} due, ${leased} at work, ${scheduled} later, ${parked} parked${dead > 0 ? `, ${dead} DEAD` : ''}`
}
