import { type Db, type Queryable, sql, type Tx } from '../platform/database/db.ts'
import type { Letter } from '../platform/mail/letter.ts'
import type { Notify } from '../platform/mail/notify.ts'
import { newId } from '../platform/text/ids.ts'
import { isolated } from '../platform/text/plain-text.ts'
import type { EndpointKey } from './delivery-queries.ts'
import type { DeliveryState } from './delivery-search.ts'

export interface Notice {
  readonly id: string
  readonly kind: 'webhook.failing' | 'webhook.given_up'
  readonly details: Readonly<Record<string, unknown>>
  readonly created_at: Date
}

export interface Trouble {
  readonly account_id: string
  readonly endpoint_id: string
  readonly event_id: string
  /** Of the delivery, after the attempt. */
  readonly state: DeliveryState
}

/** Percentages of failed attempts at which a notice is written; each once until the next success. */
const LEVELS = [100, 90, 70, 50] as const
/** Computed over this many of the latest attempts; with fewer than the minimum there is no notice yet. */
const ATTEMPTS_LOOKED_AT = 20
const ATTEMPTS_MIN = 10
/** So many events are looked through for attempts that were accepted at once. */
const EVENTS_LOOKED_AT = 1_000
/** At most one notice per hour for events that are given up. */
const GIVEN_UP_EVERY_MS = 3_600_000

/** Per account and day, also when an endpoint fails and recovers again and again. */
export const WEBHOOK_MAILS_PER_DAY_MAX = 6
const DAY_MS = 86_400_000

/** Call it after a failed attempt: writes a notice if a new threshold is reached, and mails it. */
export function noticeTrouble(
  { db, notify }: { readonly db: Db; readonly notify: Notify },
  trouble: Trouble,
  nowMs: number,
): Promise<void> {
  const { account_id, endpoint_id, event_id, state } = trouble
  return db.transaction(async (tx) => {
    // Attempts of one endpoint fail concurrently; the lock makes sure that only one of them writes the notice.
    const { url } = await tx.one<{ url: string }>(sql`
      select url
        from webhook_endpoints
       where account_id = ${account_id}
         and id = ${endpoint_id}
         for no key update`)
    const { failed, attempts } = await selectRecent(tx, trouble)
    const percent = attempts < ATTEMPTS_MIN ? 0 : Math.floor((100 * failed) / attempts)
    const level = LEVELS.find((each) => percent >= each)
    if (level !== undefined && (await raiseAlert(tx, trouble, level)) > 0) {
      const details = { endpoint_id, percent: level, attempts }
      await tell(
        tx,
        notify,
        { account_id, kind: 'webhook.failing', details },
        (name) => failingLetter(name, url, details),
        nowMs,
      )
    }
    if (state === 'failed' && !(await wasToldSince(tx, account_id, new Date(nowMs - GIVEN_UP_EVERY_MS)))) {
      const details = { endpoint_id, event_id }
      await tell(
        tx,
        notify,
        { account_id, kind: 'webhook.given_up', details },
        (name) => givenUpLetter(name, url, details),
        nowMs,
      )
    }
  })
}

type NewNotice = Pick<Notice, 'kind' | 'details'> & Pick<EndpointKey, 'account_id'>

async function tell(
  tx: Tx,
  notify: Notify,
  notice: NewNotice,
  letter: (account_name: string) => Letter,
  nowMs: number,
): Promise<void> {
  const { account_id } = notice
  const { name, mails } = await selectMailed(tx, account_id, new Date(nowMs - DAY_MS))
  const is_mailed = mails < WEBHOOK_MAILS_PER_DAY_MAX
  await insertNotice(tx, notice, is_mailed, nowMs)
  if (is_mailed) await notify(tx, account_id, 'webhook_trouble', letter(name))
}

const WHERE =
  'Open the dashboard by its usual address and choose Deliveries: it shows what your server answered.'

/** The host is enough to recognise it: a URL may contain a token of the receiver. */
export function failingLetter(
  name: string,
  url: string,
  { percent, attempts }: { percent: number; attempts: number },
): Letter {
  return {
    subject: `Webhook of ${isolated(name)}: ${percent} % of the latest attempts failed`,
    paragraphs: [
      `Of the latest ${attempts} attempts to send events to ${new URL(url).host}, ${percent} % or more failed.`,
      'Each event is tried again for up to 24 hours, then it is given up.',
    ],
    footer: [WHERE],
  }
}

export function givenUpLetter(name: string, url: string, { event_id }: { event_id: string }): Letter {
  return {
    subject: `Webhook of ${isolated(name)}: an event was given up`,
    paragraphs: [
      `${new URL(url).host} did not accept the event in 24 hours. It is not tried again by itself.`,
      'There may be more: this mail is not repeated within an hour.',
    ],
    facts: [['Event', event_id]],
    footer: [`${WHERE} When your server is well again, "Recover failed" there sends all of them once more.`],
  }
}

/** Newest first. */
export const listNotices = (db: Queryable, account_id: string, limit: number) =>
  db.many<Notice>(sql`
    select id, kind, details, created_at
      from notices
     where account_id = ${account_id}
     order by id desc
     limit ${limit}`)

/** The latest attempts at an endpoint, at most twenty, and how many of them failed. */
export const selectRecent = (tx: Tx, { account_id, endpoint_id }: EndpointKey) =>
  tx.one<{ failed: number; attempts: number }>(sql`
    select count(*) filter (where error is not null) as failed, count(*) as attempts
      from (select error
              from ((select error, finished_at
                       from delivery_attempts
                      where account_id = ${account_id}
                        and endpoint_id = ${endpoint_id}
                      order by finished_at desc
                      limit ${ATTEMPTS_LOOKED_AT})
                    union all
                    -- Accepted at once, of the latest events.
                    (select null, first_finished_at
                       from (select endpoint_id, first_finished_at
                               from deliveries
                              where account_id = ${account_id}
                              order by account_id desc, event_id desc
                              limit ${EVENTS_LOOKED_AT}) latest
                      where endpoint_id = ${endpoint_id}
                        and first_finished_at is not null
                      order by first_finished_at desc
                      limit ${ATTEMPTS_LOOKED_AT})) both_kinds
             order by finished_at desc
             limit ${ATTEMPTS_LOOKED_AT}) recent`)

/** Returns a row if this level is worse than the last one reported. */
const raiseAlert = (tx: Tx, { account_id, endpoint_id }: Trouble, level: number) =>
  tx.run(sql`
    update webhook_endpoints
       set alerted_percent = ${level}
     where account_id = ${account_id}
       and id = ${endpoint_id}
       and ended_at is null
       and alerted_percent < ${level}`)

const wasToldSince = (tx: Tx, account_id: string, since: Date) =>
  tx.maybeOne(sql`
    select id
      from notices
     where account_id = ${account_id}
       and kind = 'webhook.given_up'
       and created_at > ${since}
     limit 1`)

const selectMailed = (tx: Tx, account_id: string, since: Date) =>
  tx.one<{ name: string; mails: number }>(sql`
    select a.name,
           (select count(*)
              from notices n
             where n.account_id = a.id and n.is_mailed and n.created_at > ${since}) as mails
      from accounts a
     where a.id = ${account_id}`)

const insertNotice = (tx: Tx, { account_id, kind, details }: NewNotice, is_mailed: boolean, nowMs: number) =>
  tx.run(sql`
    insert into notices (account_id, id, kind, details, created_at, is_mailed)
    values (${account_id}, ${newId('ntc', nowMs)}, ${kind}, ${JSON.stringify(details)}, ${new Date(nowMs)}, ${is_mailed})`)
