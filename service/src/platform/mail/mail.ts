import { createTransport } from 'nodemailer'
import { type Db, type Queryable, sql, type Tx } from '../database/db.ts'
import { KekMissing, KekNotObtained, type Keyring, type RowBinding } from '../encryption/encryption.ts'
import type { SealedColumn } from '../encryption/re-encrypt.ts'
import type { JobEnd } from '../jobs/job-runner.ts'
import { finishJob, type Job } from '../jobs/jobs.ts'
import type { Log } from '../observability/log.ts'
import type { OutboundMetrics } from '../outbound/outbound-metrics.ts'
import { newId } from '../text/ids.ts'
import { type Letter, renderText, subjectOf } from './letter.ts'
import { renderHtml } from './letter-html.ts'
import { MAIL_QUEUE, MAIL_SLOTS } from './mail-queue.ts'

export interface Mail {
  readonly to: string
  readonly letter: Letter
  /** The account it is about, if it is about one. */
  readonly account_id?: string
}

/** Hands one mail to a mail server. Fails with the error of the connection or of the server's answer. */
export type SendMail = (mail: {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly id: string
}) => Promise<void>

export interface MailSenderDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly log: Log
  readonly metrics: Pick<OutboundMetrics, 'mailGivenUp'>
  readonly send: SendMail
}

const SMTP_TIMEOUT_MS = 20_000
/** Of all workers, also those that died after they had sent it. The queue gives up a mail that only fails much sooner. */
const ATTEMPTS_MAX = 50
/** Parameters of the URL would win; the settings are refused then (transport.ts). */
const ENCRYPTED = { requireTLS: true, tls: { rejectUnauthorized: true } }

/** Writes a mail and its job in the transaction of what it reports: it is sent if that was committed, and only then. */
export async function queueMail(tx: Queryable, keyring: Keyring, mail: Mail, nowMs: number): Promise<string> {
  const id = newId('mail', nowMs)
  const { bytes, kek_id } = await keyring.seal(JSON.stringify(mail.letter), bindingOf(id))
  await tx.run(sql`
    with mail as (
      insert into outgoing_mail (id, account_id, to_address, subject, body_sealed, body_kek_id)
      values (${id}, ${mail.account_id ?? null}, ${mail.to}, ${subjectOf(mail.letter)}, ${bytes}, ${kek_id})
    )
    insert into jobs (queue, subject, run_at, created_at)
    values (${MAIL_QUEUE}, ${id}, clock_timestamp(), ${new Date(nowMs)})`)
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
      maxConnections: MAIL_SLOTS,
      connectionTimeout: SMTP_TIMEOUT_MS,
      socketTimeout: SMTP_TIMEOUT_MS,
    } as object,
    { from },
  )
  return {
    async send({ to, id, ...content }) {
      await transport.sendMail({
        ...content,
        to: { name: '', address: to },
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

/** The mail server did not take a mail, and may take it later. Neither the address nor its answer, which may repeat it, belongs in the log. */
class MailNotTakenError extends Error {
  override readonly name = 'MailNotTakenError'
  readonly code: string | undefined

  constructor({ code, responseCode }: SmtpError) {
    super(
      `the mail server did not take a mail (${[code, responseCode].filter(Boolean).join(' ') || 'no code'}); ` +
        'if that lasts, look at its log and at SHOPWIRE_SMTP_URL',
    )
    this.code = code
  }
}

type SmtpError = { readonly code?: string; readonly responseCode?: number }

/**
 * The work of a job of the queue: sends the mail that it is about. The job ends after that, so a worker that dies in between has another one
 * send the mail again, under the same id. What may pass is an error of the job: the queue tries again, and has dead letters.
 */
export function createMailSender({
  db,
  keyring,
  log,
  metrics,
  send,
}: MailSenderDeps): (job: Job) => Promise<JobEnd> {
  async function giveUp(job: Job, why: object, what: string): Promise<void> {
    await endMail(db, job)
    metrics.mailGivenUp.inc()
    log.error({ mail_id: job.subject, attempts: job.attempts, ...why }, what)
  }

  async function sendMail(job: Job): Promise<void> {
    const mail = await selectMail(db, job.subject)
    // Erased meanwhile, with the account that it was about.
    if (!mail) return endMail(db, job)
    if (job.attempts > ATTEMPTS_MAX) return giveUp(job, {}, 'a mail was tried too often and was given up')
    let letter: Letter
    try {
      letter = JSON.parse(await keyring.open(mail.body_sealed, bindingOf(job.subject)))
    } catch (error) {
      // A key that is missing may come back. What is damaged stays so.
      if (error instanceof KekMissing || error instanceof KekNotObtained) throw error
      return giveUp(job, { err: error }, 'a mail cannot be decrypted and was given up')
    }
    const forms = { text: renderText(letter), html: renderHtml(letter) }
    try {
      await send({ to: mail.to_address, subject: mail.subject, ...forms, id: job.subject })
    } catch (error) {
      const { code, responseCode: smtp_status } = error as SmtpError
      if (!isFinal(error as SmtpError)) throw new MailNotTakenError(error as SmtpError)
      return giveUp(job, { code, smtp_status }, 'a mail could not be sent and was given up')
    }
    await endMail(db, job)
    log.info({ mail_id: job.subject, attempts: job.attempts }, 'a mail was sent')
  }

  return async (job) => {
    await sendMail(job)
    return { kind: 'done' }
  }
}

/** The server refuses this recipient for good. A refused login is not final: somebody corrects the settings. */
const isFinal = ({ code, responseCode }: SmtpError) =>
  code === 'EENVELOPE' && responseCode !== undefined && responseCode >= 500

const selectMail = (db: Queryable, id: string) =>
  db.maybeOne<{ to_address: string; subject: string; body_sealed: Buffer }>(sql`
    select to_address, subject, body_sealed
      from outgoing_mail
     where id = ${id}`)

const endMail = (db: Db, job: Job) =>
  db.transaction(async (tx) => {
    await finishJob(tx, job)
    await deleteMail(tx, job.subject)
  })

/** The job goes first: jobs are locked before mail. */
export const deleteMail = (tx: Tx, id: string) =>
  tx.run(sql`
    delete from outgoing_mail
     where id = ${id}`)

function bindingOf(id: string): RowBinding {
  return { column: 'outgoing_mail.body', account_id: '', row_id: id }
}
