import type { Config } from '../config/config.ts'
import { mustMailBeEncrypted } from '../config/transport.ts'
import type { IdentityWatch } from '../platform/database/database-identity.ts'
import { createJobRunner, type JobRunner } from '../platform/jobs/job-runner.ts'
import { createMailSender, type MailSenderDeps, smtpSender } from '../platform/mail/mail.ts'
import { MAIL_QUEUE, MAIL_SLOTS } from '../platform/mail/mail-queue.ts'
import type { Metrics } from './metrics.ts'

/** A mail may wait a second, so its queue is asked less often than the others. */
const POLL_MS = 1_000
/** More than six hours: mail servers are down for longer than an hour more often than our own work fails for so long. */
const FAILURES_MAX = 45
/** Of mail that an operator made due again. */
const BACKLOG_MAX = 2

interface MailRunnerDeps extends Omit<MailSenderDeps, 'metrics' | 'send'> {
  readonly metrics: Metrics
  readonly identity: Pick<IdentityWatch, 'assertConfirmed'>
}

/** In slots of its own: a mail server that hangs holds up nothing but mail. */
export function mailRunner(
  config: Pick<
    Config,
    'SHOPWIRE_SMTP_URL' | 'SHOPWIRE_MAIL_FROM' | 'SHOPWIRE_ENV' | 'SHOPWIRE_PLAINTEXT_HOSTS'
  >,
  { db, keyring, log, metrics, identity }: MailRunnerDeps,
): { readonly runners: readonly JobRunner[]; close(): void } {
  const { SHOPWIRE_SMTP_URL: url, SHOPWIRE_MAIL_FROM: from = '' } = config
  if (url === undefined) {
    log.warn(
      'no mail server is configured, so mail waits in the database: set SHOPWIRE_SMTP_URL for the worker',
    )
    return { runners: [], close() {} }
  }
  const smtp = smtpSender(url, from, { mustEncrypt: mustMailBeEncrypted(url, config) })
  const sendMail = createMailSender({ db, keyring, log, metrics, send: smtp.send })
  const runner = createJobRunner(db, {
    queue: MAIL_QUEUE,
    subjectName: 'mail_id',
    concurrency: MAIL_SLOTS,
    backlogMax: BACKLOG_MAX,
    failuresMax: FAILURES_MAX,
    pollMs: POLL_MS,
    log,
    metrics,
    async work(job) {
      // As with events: a running job does not notice that the database behind it was replaced.
      await identity.assertConfirmed()
      return sendMail(job)
    },
  })
  return { runners: [runner], close: smtp.close }
}
