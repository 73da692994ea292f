import { createHmac, type KeyObject } from 'node:crypto'
import { type Db, sql } from '../platform/database/db.ts'
import { Refusal } from '../platform/trouble.ts'
import { HashingBusy } from './passwords.ts'

/** Counted in the database, so that all processes of a dashboard agree. */
export interface Attempts {
  /**
   * Counts an attempt under each of these names, in their order, and refuses when one has reached its limit: then none is counted.
   * Counted before the work, so that simultaneous attempts get no more tries than sequential ones, and refusing costs little.
   */
  count(names: readonly CountedName[], nowMs: number): Promise<void>
  /** Takes the count back: the attempt succeeded, or was never compared, so it was no wrong attempt. */
  giveBack(names: readonly CountedName[]): Promise<void>
  /** Compares a password that was counted under these names. The count is taken back if there was no capacity to compare it. */
  compared<Result>(names: readonly CountedName[], compare: () => Promise<Result>): Promise<Result>
  /** Clears the counts under a person's name once they have signed in: the failed attempts were theirs. */
  forget(name: CountedName): Promise<void>
}

export interface CountedName {
  readonly name: string
  readonly max: number
  /** A quarter of an hour by default. At most a day: then counts are deleted. */
  readonly windowMs?: number
  /** What the refusal says instead of how to sign in nevertheless. */
  readonly refusal?: string
}

const WINDOW_MS = 15 * 60_000

/**
 * The names under which a sign-in by password is counted, the narrow ones first: one address stops at its own limit and cannot use
 * up a person's limit over all addresses, which would lock them out everywhere. Passkeys and existing sessions are never limited.
 */
export const signInNames = (email: string, address: string) =>
  [
    { name: `pair:${email.toLowerCase()} ${address}`, max: 10 },
    { name: `from:${address}`, max: 100 },
    { name: `email:${email.toLowerCase()}`, max: 50 },
  ] as const satisfies readonly CountedName[]

/** Mails that a stranger can trigger. */
export const mailNames = (email: string, address: string): readonly CountedName[] => [
  { name: `mail-from:${address}`, max: 20 },
  { name: `mail-to:${email.toLowerCase()}`, max: 5 },
]

const DAY_MS = 86_400_000

/** Mails in which an account asks an address to confirm. The address is counted over all accounts: it is one mailbox. */
export const alertMailNames = (account_id: string, email: string): readonly CountedName[] => [
  {
    name: `alert-mails-of:${account_id}`,
    max: 20,
    windowMs: DAY_MS,
    refusal: 'This account has asked many addresses to confirm in the last day. Try again tomorrow.',
  },
  {
    name: `alert-mail-to:${email}`,
    max: 3,
    windowMs: DAY_MS,
    refusal:
      'This address was asked to confirm several times in the last day. Look for our mail there, in the spam folder too, or try again tomorrow.',
  },
]

export const codeNames = (person_id: string, address: string): readonly CountedName[] => [
  { name: `code-pair:${person_id} ${address}`, max: 10 },
  { name: `code:${person_id}`, max: 50 },
]

/** Wrong tokens and invitations, neither of which can be guessed. */
export const tokenNames = (address: string): readonly CountedName[] => [
  { name: `token-from:${address}`, max: 100 },
]

export function createAttempts(db: Db, key: KeyObject): Attempts {
  // The names are people's addresses; without the key their hashes reveal nothing.
  const hashOf = ({ name }: Pick<CountedName, 'name'>) =>
    createHmac('sha256', key).update(`attempt:${name}`).digest()
  /** True if it was below its limit. The row is locked by it, so no two attempts see the same count. */
  async function countOne(counted: CountedName, nowMs: number): Promise<boolean> {
    const { max, windowMs = WINDOW_MS } = counted
    const since = new Date(nowMs - windowMs)
    const row = await db.maybeOne<{ hits: number }>(sql`
      insert into sign_in_attempts as a (name_hash, window_started_at, hits)
      values (${hashOf(counted)}, ${new Date(nowMs)}, 1)
          on conflict (name_hash) do update
         set hits = case when a.window_started_at > ${since} then a.hits + 1 else 1 end,
             window_started_at = case when a.window_started_at > ${since} then a.window_started_at
                                      else excluded.window_started_at end
       where a.window_started_at <= ${since}
          or a.hits < ${max}
      returning a.hits`)
    return row !== undefined
  }

  async function giveBack(names: readonly CountedName[]): Promise<void> {
    for (const counted of names)
      await db.run(sql`
        update sign_in_attempts
           set hits = hits - 1
         where name_hash = ${hashOf(counted)}
           and hits > 0`)
  }

  async function refusalOf(counted: CountedName, nowMs: number): Promise<Refusal> {
    const row = await db.maybeOne<{ window_started_at: Date }>(sql`
      select window_started_at
        from sign_in_attempts
       where name_hash = ${hashOf(counted)}`)
    const startedMs = row?.window_started_at.getTime() ?? nowMs
    const seconds = Math.max(1, Math.ceil((startedMs + (counted.windowMs ?? WINDOW_MS) - nowMs) / 1000))
    return new Refusal(
      'too_many_attempts',
      counted.refusal ??
        `Too many attempts. Wait ${Math.ceil(seconds / 60)} minutes, or sign in with a passkey, which is not limited.`,
      { counted: counted.name.split(':')[0] },
      { 'retry-after': String(seconds) },
    )
  }

  return {
    async count(names, nowMs) {
      for (const [n, counted] of names.entries()) {
        if (await countOne(counted, nowMs)) continue
        await giveBack(names.slice(0, n))
        throw await refusalOf(counted, nowMs)
      }
    },
    giveBack,
    async compared(names, compare) {
      try {
        return await compare()
      } catch (error) {
        if (error instanceof HashingBusy) await giveBack(names)
        throw error
      }
    },
    async forget(name) {
      await db.run(sql`delete from sign_in_attempts where name_hash = ${hashOf(name)}`)
    },
  }
}
