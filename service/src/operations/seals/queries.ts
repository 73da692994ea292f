import { type Queryable, sql, statement } from '../../platform/database/db.ts'
import { type Cells, type Digest, NO_HASH, type Segment } from './hashes.ts'

/** To the microsecond, whatever the session's settings. */
const TIME = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`
const timeOf = (column: string) => `to_char(${column} at time zone 'UTC', ${TIME})`
/** As TIME writes it. */
export const isoTime = (ms: number) => new Date(ms).toISOString().replace('Z', '000Z')

const TRANSFER_CELLS = `array['transfer 1', t.account_id, t.seq::text, t.kind, t.change_cents::text, t.balance_after_cents::text,
              t.order_id, t.reference, t.note, ${timeOf('t.created_at')}]`
/** Address and details are covered by the commitment; the part of the details that stays after `accounts erase` is covered directly. */
const AUDIT_CELLS = `array['audit 1', a.id, ${timeOf('a.at')}, a.actor, a.action, a.target, a.account_id, a.request_id,
             audit_details_kept(a.details)::text]`

interface Range {
  readonly chain: string
  readonly first_seq: number
  readonly last_seq: number
}

export interface TransferRow {
  /** The number of the range it is in. */
  readonly n: number
  readonly cells: Cells
}

/** By range, then in order. */
export const selectTransfers = (db: Queryable, ranges: readonly Range[]) =>
  db.many<TransferRow>(
    statement(
      `select r.n, ${TRANSFER_CELLS} as cells
         from (select n - 1 as n, chain, first_seq, last_seq
                 from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as r (chain, first_seq, last_seq, n)) r
        cross join lateral (select account_id, seq, kind, change_cents, balance_after_cents, order_id, reference, note, created_at
                              from transfers
                             where account_id = r.chain
                               and seq between r.first_seq and r.last_seq) t
        order by r.n, t.seq`,
      [
        ranges.map(({ chain }) => chain),
        ranges.map(({ first_seq }) => first_seq),
        ranges.map(({ last_seq }) => last_seq),
      ],
    ),
  )

export interface AuditRow {
  readonly id: string
  readonly account_id: string | null
  readonly address: string | null
  readonly details: string
  /** It is marked as erased, and an account or a person that it is about was erased, which has its own audit row. */
  readonly is_erased: boolean
  /** Without the commitment, which is the last one. */
  readonly cells: Cells
  /** Null: no commitment yet. */
  readonly commitment: string | null
  /** Null also after `accounts erase`. */
  readonly salt: string | null
}

export const selectAuditRows = (db: Queryable, ids: readonly string[]) =>
  db.many<AuditRow>(
    statement(
      `with erased as materialized (
         select e.id, e.erased_people
           from accounts e
          where e.erased_at is not null
            and exists (select from audit_log x where x.target = e.id and x.action = 'account.erase')
       ), erased_ids as materialized (
         select id from erased union all select unnest(erased_people) from erased
       )
       select a.id, a.account_id, a.address, a.details::text as details,
              a.address is null and a.details ? 'erased'
                and (a.account_id in (select id from erased_ids)
                     or a.target in (select id from erased_ids)
                     or a.details ->> 'account_id' in (select id from erased_ids)
                     or (a.account_id is null and substr(a.actor, length('person:') + 1) in (select id from erased_ids))) as is_erased,
              ${AUDIT_CELLS} as cells, encode(c.commitment, 'hex') as commitment, encode(c.salt, 'hex') as salt
         from audit_log a
         left join seal_commitments c on c.audit_id = a.id
        where a.id = any ($1::text[])
        order by a.id`,
      [ids],
    ),
  )

/** Segments after this one, in the order of sealing. */
export const selectSegments = (db: Queryable, afterId: number, limit: number) =>
  db.many<Segment>(
    statement(
      `select id, chain, kind, no, first_seq, last_seq, row_ids, row_count, encode(marks, 'hex') as marks,
              encode(previous_hash, 'hex') as previous_hash, encode(rows_hash, 'hex') as rows_hash, encode(hash, 'hex') as hash,
              ${timeOf('sealed_at')} as sealed_at
         from seal_segments
        where id > $1
        order by id
        limit $2`,
      [afterId, limit],
    ),
  )

/** Oldest first; the newest `limit` of them, or all. */
export const selectDigests = async (db: Queryable, limit?: number) =>
  (
    await db.many<Digest>(
      statement(
        `select no, day::text, first_segment, last_segment, encode(segments_hash, 'hex') as segments_hash,
                encode(previous_hash, 'hex') as previous_hash, encode(hash, 'hex') as hash
           from seal_digests
          order by no desc
          limit $1`,
        [limit ?? null],
      ),
    )
  ).reverse()

/** Audit rows that are neither sealed nor waiting to be: somebody inserted them without the trigger that registers them. */
export const selectStrayAuditRows = async (db: Queryable) =>
  (
    await db.many<{ id: string }>(sql`
      select a.id
        from audit_log a
       where not exists (select from seal_waiting w where w.audit_id = a.id)
         and a.id not in (select unnest(s.row_ids) from seal_segments s where s.kind = 'audit')
       order by a.id`)
  ).map(({ id }) => id)

export interface ChainEnd {
  readonly chain: string
  readonly no: number
  readonly last_seq: number
  readonly hash: string
}

export const selectAuditChainEnds = (db: Queryable, chains: readonly string[]) =>
  db.many<ChainEnd>(sql`
    select c.chain, coalesce(s.no, 0) as no, 0 as last_seq, coalesce(encode(s.hash, 'hex'), ${NO_HASH}) as hash
      from unnest(${chains}::text[]) as c (chain)
      left join lateral (select no, hash
                           from seal_segments
                          where chain = c.chain
                            and kind = 'audit'
                          order by no desc
                          limit 1) s on true`)

export interface AccountToSeal extends ChainEnd {
  readonly transfer_count: number
}

/** The next accounts by id, whether or not they have something to seal. */
export const selectAccountsToSeal = (db: Queryable, after: string, limit: number) =>
  db.many<AccountToSeal>(sql`
    select b.account_id as chain, b.transfer_count, coalesce(s.no, 0) as no, coalesce(s.last_seq, 0) as last_seq,
           coalesce(encode(s.hash, 'hex'), ${NO_HASH}) as hash
      from (select account_id, transfer_count
              from balances
             where account_id > ${after}
             order by account_id
             limit ${limit}) b
      left join lateral (select no, last_seq, hash
                           from seal_segments
                          where chain = b.account_id
                            and kind = 'transfers'
                          order by no desc
                          limit 1) s on true
     order by b.account_id`)

export const insertSegments = (db: Queryable, segments: readonly Segment[]) =>
  db.run(sql`
    insert into seal_segments (id, chain, kind, no, first_seq, last_seq, row_ids, row_count, marks, previous_hash, rows_hash, hash, sealed_at)
    select id, chain, kind, no, first_seq, last_seq, row_ids, row_count, decode(marks, 'hex'), decode(previous_hash, 'hex'),
           decode(rows_hash, 'hex'), decode(hash, 'hex'), sealed_at
      from json_to_recordset(${JSON.stringify(segments)})
           as s (id bigint, chain text, kind text, no bigint, first_seq bigint, last_seq bigint, row_ids text[], row_count bigint, marks text,
                 previous_hash text, rows_hash text, hash text, sealed_at timestamptz)`)

export const insertCommitments = (
  db: Queryable,
  made: readonly { audit_id: string; commitment: string; salt: string }[],
) =>
  db.run(sql`
    insert into seal_commitments (audit_id, commitment, salt)
    select audit_id, decode(commitment, 'hex'), decode(salt, 'hex')
      from json_to_recordset(${JSON.stringify(made)}) as c (audit_id text, commitment text, salt text)`)

export const insertDigest = (db: Queryable, digest: Digest, madeMs: number) =>
  db.run(sql`
    insert into seal_digests (no, day, first_segment, last_segment, segments_hash, previous_hash, hash, made_at)
    values (${digest.no}, ${digest.day}::date, ${digest.first_segment}, ${digest.last_segment}, decode(${digest.segments_hash}, 'hex'),
            decode(${digest.previous_hash}, 'hex'), decode(${digest.hash}, 'hex'), ${new Date(madeMs)})`)
