import { createHash } from 'node:crypto'
import type { EmulatedOrder, LedgerTransfer, RecordedRequest } from '@shopwire/emulator'
import type { Context, Outcome } from '../context.ts'
import { Dashboard } from '../store/dashboard.ts'
import type { Emulator } from '../store/emulator.ts'
import { printable } from '../terminal/paint.ts'
import { facts, table } from '../terminal/table.ts'
import { count, moment, money } from '../terminal/words.ts'
import { CliError, EXIT } from '../trouble.ts'
import { orderText, withoutLinks } from './present.ts'

const ORDER_ID_FORM = /^ord_[0-9a-z]{26}$/
const REQUESTS_PER_PAGE = 500
/** The most pages read, in case the emulator never reports the last one. */
const PAGES_MAX = 2_000

/** Shows the records of one purchase. It only reads: sending an order with an unused key would buy. */
export async function proveOrder(context: Context, named: string): Promise<Outcome> {
  const access = await context.token()
  if (access) return proveWithToken(context, new Dashboard(access), named)
  const emulator = await context.emulator()
  return emulator ? proveWithEmulator(context, emulator, named) : showWithApi(context, named)
}

/** As the store's dashboard shows it. */
interface StoreProof extends Pick<Proof, 'idempotency_key' | 'account_id' | 'verdict'> {
  readonly summary: string
  readonly attempts: readonly {
    readonly at: string
    readonly key_id: string
    readonly key_name: string | null
    readonly client_address: string | null
    readonly request_hash: string | null
    readonly outcome: string
    readonly status: number | null
    readonly is_sent: boolean | null
  }[]
  readonly orders: readonly ReturnType<typeof orderFacts>[]
  readonly debits: readonly StoreTransfer[]
  readonly refunds: readonly StoreTransfer[]
}

interface StoreTransfer {
  readonly id: string
  readonly change_cents: number
  readonly created_at: string
}

async function proveWithToken({ out }: Context, dashboard: Dashboard, named: string): Promise<Outcome> {
  const proof = await dashboard.json<StoreProof>(`/tokens/proofs/${encodeURIComponent(named)}`)
  out.show(proof, () => storeProofText(out, proof))
  return proof.verdict === 'not_once' ? EXIT.failed : EXIT.ok
}

function storeProofText({ paint }: Context['out'], proof: StoreProof): string {
  const parts = [keyFacts(proof, paint)]
  if (proof.attempts.length > 0) {
    parts.push(
      table(
        proof.attempts,
        [
          { title: 'ATTEMPT', cell: ({ at }) => attemptTime(at) },
          { title: 'KEY', cell: ({ key_id, key_name }) => printable(key_name ?? key_id), widthMax: 20 },
          { title: 'FROM', cell: ({ client_address }) => client_address ?? '–', widthMax: 24 },
          { title: 'CART SHA-256', cell: ({ request_hash }) => request_hash ?? '–', widthMax: 13 },
          { title: 'ANSWER', cell: ({ status }) => String(status ?? '–') },
          { title: '', cell: storeAnswer },
        ],
        paint,
      ),
    )
  }
  const moved = (label: string) => (transfer: StoreTransfer) =>
    [label, `${transfer.id}  ${money(transfer.change_cents)}  ${moment(transfer.created_at)}`] as const
  const lines = [
    ...proof.orders.map(orderLine),
    ...proof.debits.map(moved('Debit')),
    ...proof.refunds.map(moved('Refund')),
  ]
  if (lines.length > 0) parts.push(facts(lines, paint))
  const [first = '', ...more] = proof.summary.split('\n').map(printable)
  const mark = proof.verdict === 'not_once' ? paint.red('✖') : paint.green('✔')
  return [...parts, [`${mark} ${paint.bold(first)}`, ...more.map((line) => `  ${line}`)].join('\n')].join(
    '\n\n',
  )
}

function storeAnswer({ outcome, is_sent }: StoreProof['attempts'][number]): string {
  const words = outcome === 'replayed' ? 'replayed, not charged' : printable(outcome)
  return is_sent === false ? `${words}, answer lost` : words
}

const attemptTime = (at: string) => `${at.slice(0, 10)} ${at.slice(11, 23)}`
const orderLine = (order: ReturnType<typeof orderFacts>) =>
  ['Order', `${order.id}  ${order.status}  ${money(order.total_cents)}  ${moment(order.created_at)}`] as const
const keyFacts = (
  { idempotency_key, account_id }: Pick<Proof, 'idempotency_key' | 'account_id'>,
  paint: Context['out']['paint'],
) =>
  facts(
    [
      ['Key', paint.bold(printable(idempotency_key))],
      ['Account', account_id],
    ],
    paint,
  )

async function proveWithEmulator(
  { out, credentials }: Context,
  emulator: Emulator,
  named: string,
): Promise<Outcome> {
  const { keyId } = await credentials()
  const account_id = await accountOf(emulator, keyId)
  const key = ORDER_ID_FORM.test(named) ? await keyOf(emulator, account_id, named) : named
  const { orders } = await emulator.orders({ account_id, idempotency_key: key })
  const attempts = await attemptsWith(emulator, account_id, key)
  if (orders.length === 0 && attempts.length === 0) {
    throw new CliError({
      type: 'not_found',
      message: `There is no order and no attempt for ${named}.`,
      next: 'Check the key, and the account with `shopwire profile show`.',
      exitCode: EXIT.notFound,
    })
  }
  const ids = new Set(orders.map(({ id }) => id))
  const { transfers } = await emulator.ledger({ account_id })
  const moves = transfers.filter(({ order_id }) => order_id !== null && ids.has(order_id))
  const debits = moves.filter(
    ({ amount_cents, kind }) => amount_cents < 0 || (amount_cents === 0 && !kind.includes('refund')),
  )
  const refunds = moves.filter(({ amount_cents }) => amount_cents > 0)
  const isOnce =
    orders.length === 1 && debits.length === 1 && -(debits[0]?.amount_cents ?? 0) === orders[0]?.total_cents
  const isNever = orders.length === 0
  const verdict: Proof['verdict'] = isOnce ? 'bought_once' : isNever ? 'never_bought' : 'not_once'
  const document = {
    idempotency_key: key,
    account_id,
    verdict,
    attempts,
    orders: orders.map(orderFacts),
    debits,
    refunds,
  }
  out.show(document, () => proofText(out, document))
  return verdict === 'not_once' ? EXIT.failed : EXIT.ok
}

interface Attempt {
  readonly at: string
  readonly request_id: string
  readonly key_id: string | null
  readonly body_sha256: string
  readonly status: number | null
  readonly answer: string
}

async function attemptsWith(emulator: Emulator, account_id: string, key: string): Promise<Attempt[]> {
  const found: RecordedRequest[] = []
  let after = 0
  for (let page = 0; page < PAGES_MAX; page++) {
    const { requests, last } = await emulator.requests({ after, limit: REQUESTS_PER_PAGE })
    found.push(
      ...requests.filter(
        (one) =>
          one.idempotency_key === key &&
          (one.account_id === account_id || one.account_id === null) &&
          one.method === 'POST',
      ),
    )
    const newest = requests.at(-1)?.seq
    if (newest === undefined || newest <= after || newest >= last) break
    after = newest
  }
  return found.map((one) => ({
    at: one.at,
    request_id: one.id,
    key_id: one.key_id,
    body_sha256: createHash('sha256').update(one.body).digest('hex'),
    status: one.status,
    answer: answerWords(one),
  }))
}

function answerWords({ status, sent, error_type, fault }: RecordedRequest): string {
  const words =
    status === null
      ? 'not processed'
      : status === 201
        ? 'bought'
        : status === 200
          ? 'replayed, not charged'
          : (error_type ?? 'refused')
  return [words, !sent && status !== null && 'answer lost', fault && `fault ${fault}`]
    .filter(Boolean)
    .join(', ')
}

function orderFacts({ id, status, total_cents, created_at, delivered_at }: EmulatedOrder) {
  return { id, status, total_cents, created_at, delivered_at }
}

interface Proof {
  readonly idempotency_key: string
  readonly account_id: string
  readonly verdict: 'bought_once' | 'never_bought' | 'not_once'
  readonly attempts: readonly Attempt[]
  readonly orders: readonly ReturnType<typeof orderFacts>[]
  readonly debits: readonly LedgerTransfer[]
  readonly refunds: readonly LedgerTransfer[]
}

function proofText({ paint }: Context['out'], proof: Proof): string {
  const { attempts, orders, debits, refunds, verdict } = proof
  const bodies = new Set(attempts.map(({ body_sha256 }) => body_sha256))
  const parts = [keyFacts(proof, paint)]
  if (attempts.length > 0) {
    parts.push(
      table(
        attempts,
        [
          { title: 'ATTEMPT', cell: ({ at }) => attemptTime(at) },
          { title: 'KEY', cell: ({ key_id }) => key_id ?? 'unknown', widthMax: 16 },
          { title: 'BODY SHA-256', cell: ({ body_sha256 }) => body_sha256, widthMax: 13 },
          { title: 'ANSWER', cell: ({ status }) => String(status ?? '–') },
          { title: '', cell: ({ answer }) => answer },
        ],
        paint,
      ),
    )
  }
  const lines = [
    ...orders.map(orderLine),
    ...debits.map(
      (debit) => ['Debit', `${debit.id}  ${money(debit.amount_cents)}  ${moment(debit.at)}`] as const,
    ),
    ...refunds.map(
      (refund) => ['Refund', `${refund.id}  ${money(refund.amount_cents)}  ${moment(refund.at)}`] as const,
    ),
  ]
  if (lines.length > 0)
    parts.push(
      facts(
        lines.map(([label, text]) => [label, printable(text)] as const),
        paint,
      ),
    )
  const sent = `${count(attempts.length, 'attempt')}${bodies.size > 1 ? ` with ${bodies.size} different bodies` : ''}`
  const words = {
    bought_once: `${paint.green('✔')} ${paint.bold('Bought once')}: ${sent}, one order, one debit${refunds.length > 0 ? ', refunded in full' : ''}.`,
    never_bought: `${paint.green('✔')} ${paint.bold('Never bought')}: ${sent}, no order, no debit. The key is still unused.`,
    not_once: `${paint.red('✖')} ${paint.bold('Not proven')}: ${sent}, ${count(orders.length, 'order')}, ${count(debits.length, 'debit')}. This must not happen; report it to the store.`,
  }
  return [...parts, words[verdict]].join('\n\n')
}

async function keyOf(emulator: Emulator, account_id: string, id: string): Promise<string> {
  const { orders } = await emulator.orders({ account_id })
  return orders.find((order) => order.id === id)?.idempotency_key ?? id
}

/** The emulator's main account is in its facts; another account is found by its requests. */
async function accountOf(emulator: Emulator, keyId: string): Promise<string> {
  const { key, account_id } = await emulator.facts()
  if (key.id === keyId) return account_id
  const { requests } = await emulator.requests({ after: 0, limit: REQUESTS_PER_PAGE })
  return requests.findLast((one) => one.key_id === keyId && one.account_id !== null)?.account_id ?? account_id
}

const MISSING =
  "Every attempt with its time, key and body, and the one debit in the ledger, are on the store's side. The API does not show them; a personal access token of the dashboard does: shopwire login."

async function showWithApi({ out, shop }: Context, named: string): Promise<Outcome> {
  if (!ORDER_ID_FORM.test(named)) {
    throw new CliError({
      type: 'not_provable',
      message: 'The API cannot look up an idempotency key, and this command never buys to find out.',
      why: MISSING,
      next: [
        'With a personal access token of the dashboard: shopwire login, then the same command.',
        'With its order id: shopwire orders prove ord_…',
        'To settle a purchase whose answer was lost, repeat it with the same key and the same cart: shopwire orders create … --key KEY',
        'That answers with the earlier order if there is one, and otherwise buys it now.',
      ].join('\n'),
    })
  }
  const order = await (await shop()).orders.get(named)
  out.show({ verdict: 'order_exists', order: withoutLinks(order), not_shown: MISSING }, () =>
    [
      orderText(order, false, out.paint),
      `${out.paint.green('✔')} ${out.paint.bold('The order exists once')} under this id, in this account: the store gives one order to a key, and one debit to an order.`,
      out.paint.dim(MISSING),
    ].join('\n\n'),
  )
  return EXIT.ok
}
