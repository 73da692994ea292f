import { type Queryable, sql } from '../platform/database/db.ts'
import type { ProviderName } from './queries.ts'

export interface Review {
  readonly id: string
  readonly subject: string
  readonly note: string
  readonly account_id: string | null
  readonly top_up_id: string | null
  readonly found_at: Date
}

export interface NewReview extends Omit<Review, 'found_at'> {
  readonly provider: ProviderName
}

/** Records a difference once; not again if an operator has decided it. */
export const insertReview = (tx: Queryable, review: NewReview) =>
  tx.run(sql`
    insert into payment_reviews (id, provider, subject, note, account_id, top_up_id)
    values (${review.id}, ${review.provider}, ${review.subject}, ${review.note}, ${review.account_id}, ${review.top_up_id})
        on conflict (provider, subject, note) do update set gone_at = null`)

/** Closes differences of this subject that no longer exist. */
export const closeReviews = (
  tx: Queryable,
  provider: ProviderName,
  subject: string,
  except: readonly string[],
) =>
  tx.run(sql`
    update payment_reviews
       set gone_at = now()
     where provider = ${provider}
       and subject = ${subject}
       and gone_at is null
       and note <> all (${except}::text[])`)

export const selectReviews = (db: Queryable, limit: number) =>
  db.many<Review>(sql`
    select id, subject, note, account_id, top_up_id, found_at
      from payment_reviews
     where decided_at is null
       and gone_at is null
     order by found_at
     limit ${limit}`)

export const decideReview = (tx: Queryable, id: string) =>
  tx.maybeOne<Review>(sql`
    update payment_reviews
       set decided_at = now()
     where id = ${id}
       and decided_at is null
       and gone_at is null
    returning id, subject, note, account_id, top_up_id, found_at`)
