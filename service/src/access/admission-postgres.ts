import { NONCE_KEPT_S_MIN } from '@shopwire/contract'
import { type BatchingMode, batched, MUST_WAIT, type MustWait } from '../platform/batching/batched.ts'
import { type Db, isRolledBack, sql, timed } from '../platform/database/db.ts'
import { purgeAccessChanges } from './access-changes.ts'
import type { Admission, AdmissionLimits, Attempt, Verdict } from './admission.ts'
import { ACCESS_STATEMENTS } from './metrics.ts'

/** In arrays from `admit_many`. */
interface AdmitRow {
  verdict: Verdict['kind'] | 'busy'
  requests_used: number
  requests_oldest_ms: number
  orders_used: number
  orders_oldest_ms: number
  wait_ms: number
}

export interface PostgresAdmissionOptions {
  readonly limits: AdmissionLimits
  readonly batching?: BatchingMode
  onBatch?(size: number, mustWait: number): void
  onError(error: unknown): void
  onDataLost(): void
}

export const PURGE_EVERY_MS = 30_000
/** As measured in decision 0008. */
const ADMIT_LANES = 2
const ADMIT_BATCH_MAX = 32

/** Admission in the database itself, by functions/access/admit_many.sql: no other system is needed. */
export function postgresAdmission(db: Db, options: PostgresAdmissionOptions): Admission {
  const { limits } = options
  let timer: NodeJS.Timeout | undefined
  let lostAt: number | undefined

  /** `admit_many` itself detects a loss of data; this reports the loss to log and metrics, and deletes old nonces. */
  async function maintain() {
    const state = await db.one<{ lost_at: number }>(sql`select lost_at from admission_memory_check()`)
    if (lostAt !== undefined && state.lost_at !== lostAt) options.onDataLost()
    lostAt = state.lost_at
    await purge(db)
  }

  /** Requests of different accounts. Unless it may wait, a request that would have to wait is skipped. */
  async function admitMany(
    attempts: readonly Attempt[],
    { mayWait = false } = {},
  ): Promise<(Verdict | MustWait)[]> {
    const of = <Name extends keyof Attempt>(name: Name) => attempts.map((attempt) => attempt[name])
    const columns = await db.one<{ [Name in keyof AdmitRow]: AdmitRow[Name][] }>(
      timed(
        ACCESS_STATEMENTS.admit,
        sql`
        select verdicts as verdict, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms
          from admit_many(${mayWait}, ${of('account_id')}, ${of('key_id')}, ${of('nonce')}, ${of('signed_at')},
                          ${of('access_version')}, ${of('isOrder')}, ${limits.requestsMax}, ${limits.ordersMax})`,
      ),
    )
    return columns.verdict.map((kind, n) => {
      if (kind === 'busy') return MUST_WAIT
      if (kind !== 'admitted' && kind !== 'limited') return { kind }
      const at = (name: Exclude<keyof AdmitRow, 'verdict'>) => columns[name][n] as number
      return {
        kind,
        epoch: 'database',
        usage: {
          requests: {
            max: limits.requestsMax,
            used: at('requests_used'),
            oldestLeavesMs: at('requests_oldest_ms'),
          },
          orders: { max: limits.ordersMax, used: at('orders_used'), oldestLeavesMs: at('orders_oldest_ms') },
          waitMs: at('wait_ms'),
        },
      }
    })
  }

  return {
    admit: batched<Attempt, Verdict>({
      part: 'admission',
      lanes: ADMIT_LANES,
      sizeMax: ADMIT_BATCH_MAX,
      keyOf: ({ account_id }) => account_id,
      runOne: async (attempt) => (await admitMany([attempt], { mayWait: true }))[0] as Verdict,
      runMany: (attempts) => admitMany(attempts),
      isUndone: isRolledBack,
      ...(options.batching && { mode: options.batching }),
      ...(options.onBatch && { onBatch: options.onBatch }),
    }),
    // `admit_many` compares the access version with the account's own row, so there is no copy to update.
    announce: async () => {},
    problem: () => undefined,
    async open() {
      await maintain()
      timer ??= setInterval(() => void maintain().catch(options.onError), PURGE_EVERY_MS).unref()
    },
    async close() {
      clearInterval(timer)
    },
  }
}

/** Deletes nonces whose timestamp is too old to be accepted, durable ones included, and old changes of accounts. */
export async function purge(db: Db): Promise<void> {
  await db.one(sql`
    select purge_nonces(floor(extract(epoch from clock_timestamp()))::bigint - ${NONCE_KEPT_S_MIN}::bigint)`)
  await purgeAccessChanges(db)
}

/**
 * Spends a nonce durably, in a logged table; `isNew` is false when it was used before. Nothing is written when the request was
 * signed no later than a refused one whose nonce was not recorded; `refusedTo` is then that request's time.
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

/** Durably records a refusal without its nonce; returns the signing time up to which requests are refused from now on. */
export async function witnessRefusal(db: Db, { account_id, isOrder, signed_at }: Attempt): Promise<number> {
  const { refused_to } = await db.one<{ refused_to: number }>(sql`
    select witness_refusal(${account_id}, ${isOrder}, ${signed_at}) as refused_to`)
  return refused_to
}
