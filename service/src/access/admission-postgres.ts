import { NONCE_KEPT_S_MIN } from '@shopwire/contract'
import { type Db, sql } from '../platform/db.ts'
import { purgeAccessChanges } from './access-changes.ts'
import type { Admission, AdmissionLimits, Attempt, Verdict } from './admission.ts'

interface AdmitRow {
  verdict: Verdict['kind']
  requests_used: number
  requests_oldest_ms: number
  orders_used: number
  orders_oldest_ms: number
  wait_ms: number
}

export interface PostgresAdmissionOptions {
  readonly limits: AdmissionLimits
  onError(error: unknown): void
  onMemoryLost(): void
}

export const PURGE_EVERY_MS = 30_000

/** Admission in the database itself, by the function `admit` of the migrations: nothing else to run. */
export function postgresAdmission(db: Db, options: PostgresAdmissionOptions): Admission {
  const { limits } = options
  let tending: NodeJS.Timeout | undefined
  let lostAt: number | undefined

  /** The statement notices a loss by itself; here it is only told to those who watch. Old nonces go on the way. */
  async function tend() {
    const memory = await db.one<{ lost_at: number }>(sql`select lost_at from admission_memory_check()`)
    if (lostAt !== undefined && memory.lost_at !== lostAt) options.onMemoryLost()
    lostAt = memory.lost_at
    await purge(db)
  }

  return {
    async admit(attempt) {
      const row = await db.one<AdmitRow>(sql`
        select verdict, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms
          from admit(${attempt.account_id}, ${attempt.key_id}, ${attempt.nonce}, ${attempt.signed_at}, ${attempt.access_version},
                     ${attempt.isOrder}, ${limits.requestsMax}, ${limits.ordersMax})`)
      if (row.verdict !== 'admitted' && row.verdict !== 'limited') return { kind: row.verdict }
      return {
        kind: row.verdict,
        memory: 'database',
        usage: {
          requests: {
            max: limits.requestsMax,
            used: row.requests_used,
            oldestLeavesMs: row.requests_oldest_ms,
          },
          orders: { max: limits.ordersMax, used: row.orders_used, oldestLeavesMs: row.orders_oldest_ms },
          waitMs: row.wait_ms,
        },
      }
    },
    // The statement compares the access version with the account's own row; there is no copy to bring up to date.
    announce: async () => {},
    async open() {
      await tend()
      tending ??= setInterval(() => void tend().catch(options.onError), PURGE_EVERY_MS).unref()
    },
    async close() {
      clearInterval(tending)
    },
  }
}

/** Forgets what nobody needs any more: nonces that no clock lets in, witnessed ones too, and old changes of accounts. */
export async function purge(db: Db): Promise<void> {
  await db.one(sql`
    select purge_nonces(floor(extract(epoch from clock_timestamp()))::bigint - ${NONCE_KEPT_S_MIN}::bigint)`)
  await purgeAccessChanges(db)
}

/**
 * Uses up a nonce where no crash can forget it; not new when it was used before. Nothing is written when the request was
 * signed no later than one that was refused without having its nonce written down; `refusedTo` is that time then.
 */
export async function witnessNonce(
  db: Db,
  attempt: Attempt,
): Promise<{ isNew: boolean; refusedTo: number | null }> {
  const { account_id, key_id, nonce, signed_at, isOrder } = attempt
  const { is_new, refused_to } = await db.one<{ is_new: boolean; refused_to: number | null }>(sql`
    select is_new, refused_to
      from witness_nonce(${account_id}, ${key_id}, ${nonce}, ${signed_at}, ${isOrder})`)
  return { isNew: is_new, refusedTo: refused_to }
}

/** Remembers a refusal whose nonce is not written down; up to which time of signing requests are refused from now on. */
export async function witnessRefusal(db: Db, { account_id, isOrder, signed_at }: Attempt): Promise<number> {
  const { refused_to } = await db.one<{ refused_to: number }>(sql`
    select witness_refusal(${account_id}, ${isOrder}, ${signed_at}) as refused_to`)
  return refused_to
}
