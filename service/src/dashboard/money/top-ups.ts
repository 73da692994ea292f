import type { moneyRoutes, TopUpView } from '@shopwire/contract/dashboard'
import { getAccount } from '../../accounts/account.ts'
import type { BankDetails, PaymentProvider } from '../../funding/provider.ts'
import {
  countPending,
  insertTopUp,
  type ProviderName,
  selectIdOfAttempt,
  selectTopUp,
  selectTopUps,
  type TopUp,
} from '../../funding/queries.ts'
import { newReference, printReference } from '../../funding/reference.ts'
import { selectReversals } from '../../funding/reversal-queries.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Queryable } from '../../platform/database/db.ts'
import { newId } from '../../platform/text/ids.ts'
import { assert, refuse } from '../../platform/trouble.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'

export interface FundingOptions {
  /** Undefined: no bank transfers. */
  readonly bank?: BankDetails | undefined
  /** Undefined: no card payments. */
  readonly card?: PaymentProvider | undefined
  readonly min_cents: number
  readonly max_cents: number
  /** Whom customers should contact when the dashboard offers no way to pay. */
  readonly contact?: string | undefined
}

export interface TopUpDeps {
  readonly db: Db
  readonly act: MemberAct
  readonly funding: FundingOptions
}

/** Otherwise anybody could fill the operators' list, or the provider's, with top-ups that are never paid. */
const PENDING_MAX = 20

interface Wish {
  readonly attempt: string
  readonly provider: ProviderName
  readonly amount_cents: number
}

type TopUpHandlers = Pick<Area<typeof moneyRoutes>, 'getFunding' | 'listTopUps' | 'getTopUp' | 'startTopUp'>

/** Requesting a top-up. Nothing here credits one: the database does not let the dashboard's role do that. */
export const topUpArea = ({ db, act, funding }: TopUpDeps): TopUpHandlers => {
  const { bank, card, min_cents, max_cents, contact } = funding
  const providers: ProviderName[] = [...(bank ? ['bank' as const] : []), ...(card ? ['stripe' as const] : [])]

  return {
    getFunding: async () => ({ providers, min_cents, max_cents, contact: contact ?? null }),

    listTopUps: ({ member: { account_id }, query }) =>
      inAccount(db, account_id, async (tx) => {
        const limit = query.limit ?? 20
        const rows = await selectTopUps(tx, account_id, query.before ?? null, limit + 1)
        const top_ups: TopUpView[] = []
        for (const row of rows.slice(0, limit)) top_ups.push(await describe(tx, row))
        return { top_ups, next: rows.length > limit ? (top_ups.at(-1)?.id ?? null) : null, previous: null }
      }),

    getTopUp: ({ member: { account_id }, id }) =>
      inAccount(db, account_id, async (tx) => {
        const row = await selectTopUp(tx, account_id, id)
        if (!row) throw refuse('not_found', `There is no top-up ${id} in this account.`)
        const isAwaited = row.provider === 'bank' && row.state === 'pending'
        return { top_up: await describe(tx, row), instructions: isAwaited ? instructions(bank, row) : null }
      }),

    async startTopUp({ member, body, nowMs }) {
      refuseAmount(body.amount_cents)
      refuseProvider(body.provider)
      const { account_id } = member
      const { before, account } = await inAccount(db, account_id, async (tx) => {
        const started = await selectStarted(tx, account_id, body)
        if (!started) await refuseTooMany(tx, account_id)
        return { before: started, account: await getAccount(tx, account_id) }
      })
      if (before) return present(before)
      const id = newId('top', nowMs)
      const reference = newReference()
      const { amount_cents, provider, attempt } = body
      // Before the transaction: no transaction may be open while the provider answers. A page without a row is never shown and
      // expires.
      const email = member.email
      const payment = {
        account_id,
        top_up_id: id,
        amount_cents,
        reference,
        account_name: account.name,
        email,
      }
      const page = provider === 'stripe' ? await card?.open(payment) : undefined
      const row = await act(member, 'balance.start_top_up', async (tx) => {
        // Two at the same time: acts of one account run one after the other.
        const started = await selectStarted(tx, account_id, body)
        if (started) return { result: started, target: started.id, after: { repeated: true } }
        await refuseTooMany(tx, account_id)
        await insertTopUp(tx, {
          account_id,
          id,
          provider,
          amount_cents,
          reference,
          provider_session: page?.session ?? null,
          attempt,
          created_by: member.person_id,
          created_by_name: member.person_name,
          created_at: new Date(nowMs),
        })
        const result = await selectTopUp(tx, account_id, id)
        assert(result, 'a row that was just written can be read')
        return { result, target: id, after: { provider, amount_cents, reference } }
      })
      // Another page than its own would take the same money twice.
      return present(row, row.id === id ? page?.url : undefined)
    },
  }

  /** `url`: of the page that was opened for it just now; otherwise the provider is asked. */
  async function present(row: TopUp, url?: string) {
    const { account_id, provider, state, provider_session } = row
    const isPayable = provider === 'stripe' && state === 'pending' && provider_session !== null
    return {
      top_up: await inAccount(db, account_id, (tx) => describe(tx, row)),
      instructions: provider === 'bank' ? instructions(bank, row) : null,
      pay_url: isPayable ? (url ?? (await card?.readSession(provider_session))?.url ?? null) : null,
    }
  }

  function refuseProvider(provider: ProviderName) {
    if (providers.includes(provider)) return
    const ask = contact === undefined ? 'Ask the store how to add funds.' : `Ask ${contact} how to add funds.`
    throw refuse('conflict', `This store does not take ${NAMES[provider]} here. Nothing was started. ${ask}`)
  }

  function refuseAmount(amount_cents: number) {
    if (amount_cents >= min_cents && amount_cents <= max_cents) return
    throw refuse(
      'invalid_request',
      `A top-up is between ${min_cents} and ${max_cents} cents here; ${amount_cents} were requested. Nothing was started.`,
    )
  }
}

/** The top-up that the same request started before. */
async function selectStarted(
  tx: Queryable,
  account_id: string,
  { attempt, provider, amount_cents }: Wish,
): Promise<TopUp | undefined> {
  const found = await selectIdOfAttempt(tx, account_id, attempt)
  const started = found && (await selectTopUp(tx, account_id, found.id))
  if (started && (started.provider !== provider || started.amount_cents !== amount_cents))
    throw refuse(
      'conflict',
      `This request has started ${started.id} with another amount or another way to pay. Nothing was started now; reload the page.`,
    )
  return started
}

async function refuseTooMany(tx: Queryable, account_id: string): Promise<void> {
  const { count } = await countPending(tx, account_id)
  if (count < PENDING_MAX) return
  throw refuse(
    'conflict',
    `${count} top-ups of this account are waiting for their money. Pay one of them, or ask the store to remove them.`,
  )
}

const NAMES: Readonly<Record<ProviderName, string>> = { bank: 'bank transfers', stripe: 'cards' }

function instructions(bank: BankDetails | undefined, { reference }: TopUp) {
  return [...(bank ?? []), { label: 'Reference', value: printReference(reference) }]
}

async function describe(tx: Queryable, row: TopUp): Promise<TopUpView> {
  const reversals = row.state === 'credited' ? await selectReversals(tx, row.account_id, row.id) : []
  return {
    id: row.id,
    provider: row.provider,
    amount_cents: row.amount_cents,
    state: row.state,
    reference: row.reference,
    created_by_name: row.created_by_name,
    created_at: row.created_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    credited_cents: row.credited_cents,
    transfer_id: row.credited_seq === null ? null : `tr_${row.credited_seq}`,
    note: row.note,
    reversed_cents: reversals
      .filter(({ returned_at }) => returned_at === null)
      .reduce((all, { amount_cents }) => all + amount_cents, 0),
  }
}
