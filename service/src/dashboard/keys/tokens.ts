import { createHash } from 'node:crypto'
import {
  type PersonalToken,
  TOKEN_FORM,
  TOKENS_LIVE_MAX,
  type TokenRight,
  type tokensRoutes,
} from '@shopwire/contract/dashboard'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { newId, newSecret } from '../../platform/text/ids.ts'
import { assertPlain } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import type { MailOwners } from '../team/mail-owners.ts'
import { tokenMail } from './key-mails.ts'
import {
  countUsableTokens,
  findTokens,
  insertToken,
  selectTokenFacts,
  selectTokens,
  type TokenFacts,
  type TokenRow,
  updateTokenRevoked,
  updateTokenUsed,
} from './tokens-queries.ts'

export interface TokensDeps {
  readonly db: Db
  readonly act: MemberAct
  readonly mailOwners: MailOwners
  /** The origin of the dashboard, to which the token is sent. */
  readonly origin: string
}

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const NAME_LENGTH_MAX = 100
const LISTED_MAX = 100

/** The personal access tokens of the signed-in person, in their current account. */
export const tokensArea = (deps: TokensDeps): Area<typeof tokensRoutes> => ({
  listTokens: ({ member: { account_id, person_id }, nowMs }) =>
    inAccount(deps.db, account_id, async (tx) => {
      const rows = await selectTokens(tx, account_id, person_id, null, LISTED_MAX)
      return { tokens: rows.map((row) => presentToken(row, nowMs)) }
    }),

  createToken: ({ member, body }) =>
    deps.act(member, 'token.create', async (tx, nowMs) => {
      const { account_id, person_id } = member
      const { name, rights, with_links, days } = body
      assertPlain('A name', name, NAME_LENGTH_MAX)
      const now = new Date(nowMs)
      const { usable } = await countUsableTokens(tx, account_id, person_id, now)
      if (usable >= TOKENS_LIVE_MAX)
        throw refuse(
          'conflict',
          `You have ${usable} usable tokens in this account. Revoke one that you do not use.`,
        )
      const secret = newSecret('swp')
      const row: TokenRow = {
        id: newId('pat', nowMs),
        person_id,
        name,
        rights,
        with_links,
        created_at: now,
        expires_at: new Date(nowMs + days * DAY_MS),
        last_used_at: null,
        revoked_at: null,
      }
      await insertToken(tx, { ...row, account_id, token_hash: hashOf(secret) })
      const after = { name, rights, with_links, expires_at: row.expires_at }
      await deps.mailOwners(tx, member, tokenMail(row), nowMs)
      const result = { token: presentToken(row, nowMs), secret, dashboard_url: deps.origin }
      return { result, target: row.id, after }
    }),

  revokeToken: async ({ member, body: { id }, nowMs }) => {
    const { account_id, person_id } = member
    const before = await inAccount(deps.db, account_id, async (tx) => {
      const [row] = await selectTokens(tx, account_id, person_id, id, 1)
      if (!row) throw refuse('not_found', 'You have no such token in this account.')
      return row
    })
    if (before.revoked_at !== null) return { id, revoked_at: before.revoked_at.toISOString() }
    return deps.act(member, 'token.revoke', async (tx, at) => {
      await updateTokenRevoked(tx, account_id, id, new Date(at))
      return {
        result: { id, revoked_at: new Date(at).toISOString() },
        target: id,
        before: { name: before.name, state: presentToken(before, nowMs).state },
        after: { state: 'revoked' },
      }
    })
  },
})

function presentToken(row: TokenRow, nowMs: number): PersonalToken {
  const { id, name, rights, with_links } = row
  const isOver = row.expires_at.getTime() <= nowMs
  return {
    id,
    name,
    rights: [...rights],
    with_links,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    state: row.revoked_at !== null ? 'revoked' : isOver ? 'expired' : 'active',
  }
}

/** The sender of a token, and what it may be used for. */
export interface TokenCaller extends TokenFacts {
  readonly account_id: string
  readonly token_id: string
  readonly token_hash: Buffer
}

/** From the text of a token; refuses one that is unknown, expired or revoked, or whose person has left the account. */
export async function callerOfToken(
  db: Db,
  token: string | undefined,
  right: TokenRight,
  nowMs: number,
): Promise<TokenCaller> {
  const token_hash = token !== undefined && TOKEN_FORM.test(token) ? hashOf(token) : undefined
  const [found] = token_hash ? await findTokens(db, [token_hash]) : []
  if (!token_hash || !found) throw notValid()
  const { account_id, id: token_id } = found
  return inAccount(db, account_id, async (tx) => {
    const facts = await selectTokenFacts(tx, account_id, token_id)
    if (!facts) throw notValid()
    if (!facts.rights.includes(right))
      throw refuse(
        'insufficient_scope',
        `This token lacks the right ${right}. Create one that has it in the dashboard, under API keys, Command line.`,
      )
    await updateTokenUsed(tx, account_id, token_id, new Date(nowMs), new Date(nowMs - MINUTE_MS))
    return { ...facts, account_id, token_id, token_hash }
  })
}

function notValid() {
  return refuse(
    'authentication_failed',
    'This token is not valid: it is unknown, has expired or was revoked, or its owner may no longer use it. Create a new one in the dashboard, under API keys, Command line.',
  )
}

/** 256 random bits need no slow hash. */
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
