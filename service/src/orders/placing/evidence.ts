import { type BatchWriter, createBatchWriter } from '../../platform/batching/batch-writer.ts'
import { type Db, type Queryable, sql } from '../../platform/database/db.ts'
import type { Removed } from '../../platform/jobs/removal-limit.ts'
import type { Log } from '../../platform/observability/log.ts'
import type { OrderMetrics } from '../metrics.ts'

/** What a request is about, as far as its endpoint knows; the rest is known once its answer has been sent. */
export interface Evidence {
  readonly at_ms: number
  readonly client_address: string
  /** Of an attempt to buy. */
  readonly attempt?: { readonly idempotency_key: string; readonly request_hash: Buffer }
  /** The order that the attempt bought. */
  bought_order_id?: string
  /** For an answer that contains links. */
  read?: { readonly order_id: string; readonly links: number }
}

/** A finished request. */
export interface EvidenceRow extends Evidence {
  readonly account_id: string
  readonly key_id: string
  readonly request_id: string
  readonly status: number
  /** The type of the error; null when the request was not refused. */
  readonly refused: string | null
  /** Whether the whole answer was handed to the network before the caller closed the connection. */
  readonly isSent: boolean
}

export type EvidenceWriter = BatchWriter<EvidenceRow>

/** A killed process loses at most this much of its latest evidence. */
const EVERY_MS = 1_000
const BATCH_MAX = 500
/** About five megabytes, and several seconds of the busiest process while its database is unavailable. */
const WAITING_MAX = 10_000
/** If the number of trusted proxies is set too high, an address is whatever text a proxy sent. */
const ADDRESS_LENGTH_MAX = 64

export const clientAddress = (address: string) => address.slice(0, ADDRESS_LENGTH_MAX)

/** Records attempts to buy and reads of links after the answers, so that requests do not wait for it. See decision 0021. */
export function createEvidenceWriter(
  db: Queryable,
  { log, metrics }: { log: Log; metrics: Pick<OrderMetrics, 'evidenceLost'> },
): EvidenceWriter {
  return createBatchWriter<EvidenceRow>({
    everyMs: EVERY_MS,
    batchMax: BATCH_MAX,
    waitingMax: WAITING_MAX,
    write: (rows) => insertEvidence(db, rows),
    onLost(rows, why) {
      metrics.evidenceLost.inc(rows)
      log.error(
        { rows, err: why },
        'evidence of requests was lost: their attempts and reads of links are in the log only',
      )
    },
  })
}

/** One statement. Rows that exist already, because an earlier try succeeded after all, are left unchanged. */
const insertEvidence = (db: Queryable, rows: readonly EvidenceRow[]) =>
  db.run(sql`
    with given as materialized (
      select account_id, key_id, request_id, at, client_address, status, outcome, is_sent, idempotency_key, request_hash,
             order_id, links, bought_order_id
        from json_to_recordset(${JSON.stringify(rows.map(columnsOf))})
             as g (account_id text, key_id text, request_id text, at timestamptz, client_address text, status smallint,
                   outcome text, is_sent boolean, idempotency_key text, request_hash text, order_id text, links smallint,
                   bought_order_id text)
    ), attempts as (
      insert into order_attempts (account_id, idempotency_key, request_id, at, key_id, client_address, request_hash, status,
                                  outcome, is_sent)
      select account_id, idempotency_key, request_id, at, key_id, client_address, decode(request_hash, 'hex'), status, outcome,
             is_sent
        from given
       where idempotency_key is not null
         and bought_order_id is null
          on conflict do nothing
    ), reads as (
      insert into link_reads (account_id, order_id, request_id, at, key_id, client_address, links, is_sent)
      select account_id, order_id, request_id, at, key_id, client_address, links, is_sent
        from given
       where order_id is not null
          on conflict do nothing
    )
    insert into order_answers (order_id, account_id, is_sent)
    select bought_order_id, account_id, is_sent
      from given
     where bought_order_id is not null
        on conflict do nothing`)

function columnsOf({ attempt, read, bought_order_id, at_ms, refused, isSent, ...row }: EvidenceRow) {
  return {
    ...row,
    at: new Date(at_ms),
    outcome: refused ?? 'replayed',
    is_sent: isSent,
    idempotency_key: attempt?.idempotency_key,
    request_hash: attempt?.request_hash.toString('hex'),
    // An answer that ended as an error said nothing about the order and contained no links.
    ...(refused === null && { ...read, bought_order_id }),
  }
}

const DELETED_OF_EACH = 1_000
/** Rows at a time, of three tables together. */
export const EVIDENCE_CHUNK = 3 * DELETED_OF_EACH

/** Removes evidence that is past its retention, one chunk per call. */
export async function deleteOldEvidence(db: Pick<Db, 'commit'>, before: Date): Promise<Removed> {
  const { removed } = await db.commit<{ removed: number }>(sql`
    select delete_old_evidence(${before}, ${DELETED_OF_EACH}) as removed`)
  return { removed, isMore: removed > 0 }
}
