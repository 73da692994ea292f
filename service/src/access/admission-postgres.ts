import { NONCE_KEPT_S_MIN } from '@shopwire/contract'
import { type Db, sql } from '../platform/db.ts'
import type { Admission, AdmissionLimits, Verdict } from './admission.ts'

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

/** Admission in the database itself, by the function `admit` of migration 0004: nothing else to run. */
export function postgresAdmission(db: Db, options: PostgresAdmissionOptions): Admission {
  const { limits } = options
  let tending: NodeJS.Timeout | undefined
  let lostAt: number | undefined

  /** The statement notices a loss by itself; here it is only told to those who watch. Old nonces go on the way. */
  async function tend() {
    const memory = await db.one<{ lost_at: number }>(sql`select lost_at from admission_memory_check()`)
    if (lostAt !== undefined && memory.lost_at !== lostAt) options.onMemoryLost()
    lostAt = memory.lost_at
    await purgeNonces(db)
  }

  return {
    async admit(attempt) {
      const row = await db.one<AdmitRow>(sql`
        select verdict, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms
          from admit(${attempt.account_id}, ${attempt.key_id}, ${attempt.nonce}, ${attempt.signed_at}, ${attempt.standing},
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
    // The statement compares the standing with the account's own row; there is no copy to bring up to date.
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

/** Forgets nonces that no clock lets in any more, witnessed ones too. One process at a time does it. */
export async function purgeNonces(db: Db): Promise<void> {
  await db.one(sql`
    select purge_nonces(floor(extract(epoch from clock_timestamp()))::bigint - ${NONCE_KEPT_S_MIN}::bigint)`)
}

/** Spends a nonce where no crash can forget it; false when it was spent before. */
export async function witnessNonce(
  db: Db,
  nonce: { account_id: string; key_id: string; nonce: string; signed_at: number },
): Promise<boolean> {
  const inserted = await db.run(sql`
    insert into witnessed_nonces (account_id, key_id, nonce, signed_at)
    values (${nonce.account_id}, ${nonce.key_id}, ${nonce.nonce}, ${nonce.signed_at})
        on conflict do nothing`)
  return inserted === 1
}
