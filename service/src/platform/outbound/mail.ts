import { createTransport } from 'nodemailer'
import type { Clock } from '../clock.ts'
import { type Db, type Queryable, sql } from '../database/db.ts'
import { KekMissing, type Keyring, type RowBinding } from '../encryption/encryption.ts'
import type { SealedColumn } from '../encryption/re-encrypt.ts'
import type { Log } from '../observability/log.ts'
import { newId } from '../text/ids.ts'
import type { OutboundMetrics } from './outbound-metrics.ts'

/** A mail in plain text: plain words, at most one link, nothing that reports whether it was opened. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The account it is about, if it is about one. */
  readonly account_id?: string
}

/** Hands one mail to a mail server. Fails with the error of the connection or of the server's answer. */
export type SendMail = (mail: { to: string; subject: string; text: string; id: string }) => Promise<void>

export interface MailSenderDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<OutboundMetrics, 'mailGivenUp'>
  /** Undefined: no mail server is configured; mail waits. */
  readonly send: SendMail | undefined
}

const CLAIMED_MAX = 20
const ATTEMPTS_MAX = 12
const FIRST_RETRY_MS = 60_000
const LAST_RETRY_MS = 3_600_000
const KEPT_MS = 30 * 86_400_000
const DELETED_MAX = 500
const SMTP_TIMEOUT_MS = 20_000
/** Parameters of the URL would win; the settings are refused then (transport.ts). */
const ENCRYPTED = { requireTLS: true, tls: { rejectUnauthorized: true } }

/** Writes a mail in the transaction of what it reports: it is sent if that was committed, and only then. */
export async function queueMail(tx: Queryable, keyring: Keyring, mail: Mail, nowMs: number): Promise<string> {
  const id = newId('mail', nowMs)
  const { bytes, kek_id } = await keyring.seal(mail.text, bindingOf(id))
  const now = new Date(nowMs)
  await tx.run(sql`
    insert into outgoing_mail (id, account_id, to_address, subject, body_sealed, body_kek_id, created_at, next_at)
    values (${id}, ${mail.account_id ?? null}, ${mail.to}, ${mail.subject}, ${bytes}, ${kek_id}, ${now}, ${now})`)
  return id
}

export const mailBodies: SealedColumn = {
  table: 'outgoing_mail',
  keys: ['id'],
  column: 'body',
  bindingOf: ({ id }) => bindingOf(String(id)),
}

export interface MailTransport {
  /** Without it a server that does not offer STARTTLS, or whose offer somebody removed on the way, gets the mail in the clear. */
  readonly mustEncrypt: boolean
}

/** By SMTP, with STARTTLS where the server offers it; `smtps://` for TLS from the first byte. */
export function smtpSender(
  url: string,
  from: string,
  { mustEncrypt }: MailTransport,
): { send: SendMail; close(): void } {
  const transport = createTransport(
    {
      url,
      ...(mustEncrypt && ENCRYPTED),
      pool: true,
      connectionTimeout: SMTP_TIMEOUT_MS,
      socketTimeout: SMTP_TIMEOUT_MS,
    } as object,
    { from },
  )
  return {
    async send({ to, subject, text, id }) {
      await transport.sendMail({
        to: { name: '', address: to },
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Shopwire-Mail': id },
        // Addresses and texts never name files or pages to read.
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    },
    close: () => transport.close(),
  }
}

/** Connects and signs in, as for sending, and sends nothing. */
export async function tryMailServer(
  url: string,
  timeoutMs: number,
  { mustEncrypt }: MailTransport,
): Promise<void> {
  const transport = createTransport({
    url,
    ...(mustEncrypt && ENCRYPTED),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  } as object)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

/** Sends what is due; one call claims a few mails. Returns how many it tried. To be called repeatedly, by any number of workers. */
export function createMailSender({
  db,
  keyring,
  clock,
  log,
  metrics,
  send,
}: MailSenderDeps): () => Promise<number> {
  let saidWaiting = false

  /** Undefined: it cannot be decrypted. Each alone, so that it holds up no other. */
  async function open({ id, body_sealed, attempts }: Claimed): Promise<string | undefined> {
    try {
      return await keyring.open(body_sealed, bindingOf(id))
    } catch (error) {
      const facts = { mail_id: id, attempts, err: error }
      // A key that is missing may come back. What is damaged stays so.
      if (error instanceof KekMissing && attempts < ATTEMPTS_MAX)
        log.error(facts, 'a mail cannot be decrypted without its key; it is tried again')
      else await giveUp(id, facts, 'a mail cannot be decrypted and was given up')
      return undefined
    }
  }

  async function giveUp(id: string, facts: object, what: string): Promise<void> {
    await recordGivenUp(db, id, clock.nowMs())
    metrics.mailGivenUp.inc()
    log.error(facts, what)
  }

  return async () => {
    if (!send) {
      if (!saidWaiting && (await isAnyDue(db, clock.nowMs()))) {
        saidWaiting = true
        log.warn('mail is waiting and no mail server is configured: set SHOPWIRE_SMTP_URL for the worker')
      }
      return 0
    }
    const claimed = await claim(db, clock.nowMs())
    await Promise.all(
      claimed.map(async (mail) => {
        const text = await open(mail)
        if (text === undefined) return
        try {
          await send({ to: mail.to_address, subject: mail.subject, text, id: mail.id })
        } catch (error) {
          // Neither the address nor the server's answer, which may repeat it, belongs in the log.
          const { code, responseCode } = error as { code?: string; responseCode?: number }
          const facts = { mail_id: mail.id, attempts: mail.attempts, code, smtp_status: responseCode }
          if (isFinal(error) || mail.attempts >= ATTEMPTS_MAX)
            await giveUp(mail.id, facts, 'a mail could not be sent and was given up')
          else log.warn(facts, 'a mail could not be sent; it is tried again')
          return
        }
        await recordSent(db, mail.id, clock.nowMs())
        log.info({ mail_id: mail.id, attempts: mail.attempts }, 'a mail was sent')
      }),
    )
    return claimed.length
  }
}

/** The server refuses this recipient for good. A refused login is not final: somebody corrects the settings. */
function isFinal(error: unknown): boolean {
  const { code, responseCode } = error as { code?: string; responseCode?: number }
  return code === 'EENVELOPE' && responseCode !== undefined && responseCode >= 500
}

interface Claimed {
  readonly id: string
  readonly to_address: string
  readonly subject: string
  readonly body_sealed: Buffer
  readonly attempts: number
}

/** Each attempt moves the next one further away, before it is made. */
const claim = (db: Db, nowMs: number) =>
  db.many<Claimed>(sql`
    update outgoing_mail
       set attempts = attempts + 1,
           next_at = ${new Date(nowMs)}::timestamptz
             + least(${FIRST_RETRY_MS}::double precision * power(2, attempts), ${LAST_RETRY_MS}) * interval '1 millisecond'
     where id in (select id
                    from outgoing_mail
                   where next_at <= ${new Date(nowMs)}
                     and sent_at is null
                     and failed_at is null
                   order by next_at
                   limit ${CLAIMED_MAX}
                     for update skip locked)
 returning id, to_address, subject, body_sealed, attempts`)

async function isAnyDue(db: Db, nowMs: number): Promise<boolean> {
  const { due } = await db.one<{ due: boolean }>(sql`
    select exists (select from outgoing_mail
                    where next_at <= ${new Date(nowMs)}
                      and sent_at is null
                      and failed_at is null) as due`)
  return due
}

const recordSent = (db: Db, id: string, nowMs: number) =>
  db.run(sql`
    update outgoing_mail
       set sent_at = ${new Date(nowMs)}, body_sealed = null, body_kek_id = null
     where id = ${id}`)

const recordGivenUp = (db: Db, id: string, nowMs: number) =>
  db.run(sql`
    update outgoing_mail
       set failed_at = ${new Date(nowMs)}, body_sealed = null, body_kek_id = null
     where id = ${id}`)

/** Rows of mail that was sent or given up a month ago. Returns how many were removed; call again while it is not 0. */
export const deleteOldMail = (db: Db, nowMs: number) =>
  db.run(sql`
    delete from outgoing_mail
     where id in (select id
                    from outgoing_mail
                   where created_at < ${new Date(nowMs - KEPT_MS)}
                     and (sent_at is not null or failed_at is not null)
                   limit ${DELETED_MAX}
                     for update skip locked)`)

function bindingOf(id: string): RowBinding {
  return { column: 'outgoing_mail.body', account_id: '', row_id: id }
}
