import type { Command } from 'commander'
import {
  type Attempts,
  type BoughtOrder,
  type OrderEvent,
  type OrderEvidence,
  type OrderTransfer,
  type Proof,
  type RecordedAttempt,
  summaryOf,
} from '../../operations/order-evidence.ts'
import type { AuditRow } from '../../platform/database/audit.ts'
import { printable } from '../../platform/text/plain-text.ts'
import { RulesViolatedError } from '../installation/verify.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { day, dollars, NotDoneError, print, table } from '../terminal/print.ts'

export function proveCommand(orders: Command, context: CommandContext): void {
  orders
    .command('prove')
    .argument('<key-or-id>', 'idempotency key, or the id of an order')
    .option(
      '--account <account>',
      'whose key it is; without it all accounts are searched, which takes longer',
    )
    .description(
      'what shows that one idempotency key bought once; see "Answer a dispute" in the documentation',
    )
    .action(async (named: string, { account }: { account?: string }, command: Command) => {
      const reads = account === undefined ? context.longRunningReads() : context.reads()
      const { idempotency_key, account_ids } = await reads.findKey(named, account)
      const proofs = await Promise.all(account_ids.map((id) => reads.proveKey(id, idempotency_key)))
      const [proof, ...others] = proofs as [Proof, ...Proof[]]
      if (others.length > 0) {
        print(command, context, { idempotency_key, accounts: proofs.map(accountFacts) }, () =>
          accountTable(proofs),
        )
        throw new NotDoneError(
          `${proofs.length} accounts used this key, independently: a key belongs to its account. Name the account of the claim, ` +
            `such as: shopwire-admin orders prove ${idempotency_key} --account ${proof.account_id}`,
        )
      }
      print(command, context, { ...proof, summary: summaryOf(proof) }, () => describeProof(proof))
      if (proof.verdict === 'not_once')
        throw new RulesViolatedError(
          'Orders, debits and refunds of this key contradict each other. This must not happen: close the store and read "Invariants" in the documentation before you change anything.',
        )
    })
}

/** What `orders show` prints below the lines of an order. */
export function describeEvidence(evidence: OrderEvidence, created_at: Date): string[] {
  const { idempotency_key, key, link_reads, link_reads_total, events } = evidence
  const { operator_actions, kept_since } = evidence
  const isReveal = ({ action }: AuditRow) => action === 'order.reveal_links'
  const reveals = operator_actions.filter(isReveal)
  const others = operator_actions.filter((row) => !isReveal(row))
  const hidden = link_reads_total - link_reads.length
  return [
    '',
    facts([
      ['Idempotency key', idempotency_key],
      ['Bought by', buyerText(evidence)],
      ...keyFacts([...evidence.attempts, ...link_reads], key.id),
    ]),
    '',
    'Attempts with this idempotency key:',
    ...attemptLines(evidence, evidence.request_hash),
    '',
    'Answers that carried the links:',
    table(
      ['TIME (UTC)', 'REQUEST', 'KEY', 'ADDRESS', 'LINKS', 'ANSWER'],
      [
        ...reveals.map((row) => [
          day(row.at),
          '',
          row.actor,
          '',
          String(row.details.links),
          '--reveal-links',
        ]),
        ...link_reads.map((read) => [
          day(read.at),
          read.request_id,
          read.key_id,
          read.client_address,
          String(read.links),
          sentText(read.is_sent),
        ]),
      ],
      'None recorded.',
    ),
    ...(hidden > 0 ? [`and ${hidden} earlier ones`] : []),
    ...(created_at < kept_since
      ? [`Attempts and reads before ${day(kept_since)} UTC are no longer stored.`]
      : []),
    '',
    'Webhook events:',
    eventTable(events),
    ...(others.length > 0 ? ['', 'Operators:', actionTable(others)] : []),
  ]
}

function describeProof(proof: Proof): string {
  const { idempotency_key, account_id, orders, debits, refunds, attempts } = proof
  const [order] = orders
  return [
    facts([
      ['Idempotency key', idempotency_key],
      ['Account', account_id],
      ...keyFacts(attempts),
      ...orders.map((one) => ['Order', orderText(one)] as const),
      ...debits.map((debit) => ['Debit', transferText(debit)] as const),
      ...refunds.map((refund) => ['Refund', transferText(refund)] as const),
    ]),
    '',
    ...attemptLines(proof, order?.request_hash),
    '',
    summaryOf(proof),
  ].join('\n')
}

function attemptLines({ attempts, counts }: Attempts, bought: string | undefined): string[] {
  const rest = counts.attempts - attempts.length
  return [
    table(
      ['TIME (UTC)', 'REQUEST', 'KEY', 'ADDRESS', 'CART SHA-256', 'ANSWER', ''],
      attempts.map((attempt) => [
        day(attempt.at),
        attempt.request_id ?? '',
        attempt.actor ?? attempt.key_id,
        attempt.client_address ?? '',
        cartText(attempt.request_hash, bought),
        String(attempt.status ?? ''),
        outcomeText(attempt),
      ]),
      'None was recorded.',
    ),
    ...(rest > 0 ? [`and ${rest} later ones`] : []),
  ]
}

const HASH_SHOWN = 12

function cartText(hash: string | null, bought: string | undefined): string {
  if (hash === null) return ''
  const shown = hash.slice(0, HASH_SHOWN)
  return bought !== undefined && hash !== bought ? `${shown} other` : shown
}

function outcomeText({ outcome, is_sent, actor }: RecordedAttempt): string {
  const words = outcome === 'replayed' ? 'replayed, not charged' : outcome
  if (actor !== null || is_sent === true) return words
  return `${words}, ${is_sent === null ? 'answer not recorded' : sentText(false)}`
}

const sentText = (isSent: boolean) => (isSent ? 'sent' : 'caller was gone before the answer')

function eventTable(events: readonly OrderEvent[]): string {
  return table(
    ['TIME (UTC)', 'EVENT', 'TYPE', 'STATUS', 'OUTCOME', 'TO'],
    events.flatMap((event) => {
      const { event_id, type, url, state } = event
      const where = url ?? ''
      const recorded = [
        day(event.created_at),
        event_id,
        type,
        '',
        url === null ? 'no endpoint' : (state ?? ''),
        where,
      ]
      return [
        recorded,
        ...event.attempts.map(({ started_at, status, error, remote_address }) => [
          day(new Date(started_at)),
          event_id,
          type,
          String(status ?? ''),
          error === null ? 'accepted' : `failed: ${error}`,
          remote_address ?? '',
        ]),
      ]
    }),
    'None is stored.',
  )
}

function actionTable(rows: readonly AuditRow[]): string {
  return table(
    ['TIME (UTC)', 'ACTOR', 'ACTION'],
    rows.map(({ at, actor, action }) => [day(at), actor, action]),
    '',
  )
}

function buyerText({ key, request_id, client_address, attempts }: OrderEvidence): string {
  const operator = attempts.find(({ actor, outcome }) => actor !== null && outcome === 'bought')
  if (request_id === null) return `operator ${operator?.actor ?? 'unknown'}`
  const from = client_address === null ? '' : ` from ${client_address}`
  return `key ${key.id}${key.name === null ? '' : ` "${key.name}"`}, request ${request_id}${from}`
}

/** The names of keys in the tables, except for the one that is named already. */
function keyFacts(
  rows: readonly { key_id: string; key_name: string | null }[],
  besides?: string,
): (readonly [string, string])[] {
  const names = new Map(rows.map(({ key_id, key_name }) => [key_id, key_name]))
  return [...names]
    .filter(([id, name]) => name !== null && id !== besides)
    .map(([id, name]) => ['Key', `${id} "${name}"`])
}

function orderText({ id, status, total_cents, created_at }: BoughtOrder): string {
  return `${id}  ${status}  ${dollars(total_cents)}  ${day(created_at)} UTC`
}

function transferText({ id, change_cents, balance_after_cents, created_at }: OrderTransfer): string {
  return `${id}  ${dollars(change_cents)}  ${day(created_at)} UTC  balance after it ${dollars(balance_after_cents)}`
}

function accountFacts({ account_id, verdict, orders, counts }: Proof) {
  return { account_id, verdict, order_id: orders[0]?.id ?? null, attempts: counts.attempts }
}

function accountTable(proofs: readonly Proof[]): string {
  return table(
    ['ACCOUNT', 'ORDER', 'TOTAL', 'ATTEMPTS'],
    proofs.map(({ account_id, orders: [order], counts }) => [
      account_id,
      order?.id ?? 'none',
      order ? dollars(order.total_cents) : '',
      String(counts.attempts),
    ]),
    '',
  )
}

function facts(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, text]) => `${label.padEnd(width)}  ${printable(text)}`).join('\n')
}
