import { createHmac, type KeyObject } from 'node:crypto'
import { type Db, sql } from '../platform/db.ts'
import { Refusal } from '../platform/trouble.ts'

/** Counted in the database, so that all processes of a dashboard agree. */
export interface Attempts {
  /** Refuses when one of these names has had too many failures lately. Asked before the work, so that refusing costs little. */
  assertAllowed(names: readonly CountedName[], nowMs: number): Promise<void>
  recordFailure(names: readonly CountedName[], nowMs: number): Promise<void>
  /** Somebody proved who they are: what failed under their name before was them. */
  forget(name: CountedName): Promise<void>
}

export interface CountedName {
  readonly name: string
  readonly max: number
}

const WINDOW_MS = 15 * 60_000

/**
 * Who is counted for a sign-in by password. The narrow count stops guessing from one place; the wide one guessing from many, and
 * is wide so that a stranger cannot easily keep somebody from signing in. Passkeys and existing sessions are never held up.
 */
export const signInNames = (email: string, address: string): readonly CountedName[] => [
  { name: `from:${address}`, max: 100 },
  { name: `pair:${email.toLowerCase()} ${address}`, max: 10 },
  { name: `email:${email.toLowerCase()}`, max: 50 },
]

/** Mails that a stranger can cause. */
export const mailNames = (email: string, address: string): readonly CountedName[] => [
  { name: `mail-from:${address}`, max: 20 },
  { name: `mail-to:${email.toLowerCase()}`, max: 5 },
]

export const codeNames = (person_id: string): readonly CountedName[] => [
  { name: `code:${person_id}`, max: 10 },
]

/** Wrong tokens, invitations and passkeys, none of which can be guessed. */
export const tokenNames = (address: string): readonly CountedName[] => [
  { name: `token-from:${address}`, max: 100 },
]

export function createAttempts(db: Db, key: KeyObject): Attempts {
  // The names are addresses of people; their hashes without the key say nothing.
  const hashOf = ({ name }: CountedName) => createHmac('sha256', key).update(`attempt:${name}`).digest()
  return {
    async assertAllowed(names, nowMs) {
      const rows = await db.many<{ name_hash: Buffer; hits: number; window_started_at: Date }>(sql`
        select name_hash, hits, window_started_at
          from sign_in_attempts
         where name_hash = any(${names.map(hashOf)}::bytea[])
           and window_started_at > ${new Date(nowMs - WINDOW_MS)}`)
      for (const counted of names) {
        const row = rows.find((one) => one.name_hash.equals(hashOf(counted)))
        if (!row || row.hits < counted.max) continue
        const seconds = Math.max(1, Math.ceil((row.window_started_at.getTime() + WINDOW_MS - nowMs) / 1000))
        throw new Refusal(
          'too_many_attempts',
          `Too many attempts. Wait ${Math.ceil(seconds / 60)} minutes, or sign in with a passkey, which is not held up.`,
          { counted: counted.name.split(':')[0] },
          { 'retry-after': String(seconds) },
        )
      }
    },
    async recordFailure(names, nowMs) {
      // In the order of the hashes: two requests that count the same names never wait for each other in a circle.
      const hashes = names.map(hashOf).sort(Buffer.compare)
      await db.run(sql`
        insert into sign_in_attempts as a (name_hash, window_started_at, hits)
        select name_hash, ${new Date(nowMs)}, 1
          from unnest(${hashes}::bytea[]) as n (name_hash)
            on conflict (name_hash) do update
           set hits = case when a.window_started_at > ${new Date(nowMs - WINDOW_MS)} then a.hits + 1 else 1 end,
               window_started_at = case when a.window_started_at > ${new Date(nowMs - WINDOW_MS)} then a.window_started_at
                                        else excluded.window_started_at end`)
    },
    async forget(name) {
      await db.run(sql`delete from sign_in_attempts where name_hash = ${hashOf(name)}`)
    },
  }
}
