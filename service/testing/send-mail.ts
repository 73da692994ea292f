import { createMailSender, type MailSenderDeps } from '../src/platform/mail/mail.ts'
import { MAIL_QUEUE } from '../src/platform/mail/mail-queue.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { claimFromAllLanes } from './claim.ts'

const LEASE_MS = 60_000

/** Sends all mail that is due, the oldest first, as a worker does. */
export async function sendDueMail(deps: Pick<MailSenderDeps, 'db' | 'keyring' | 'send'>): Promise<void> {
  const sendMail = createMailSender({ ...deps, log: createLog('silent'), metrics: createMetrics('test') })
  const jobs = await claimFromAllLanes(deps.db, MAIL_QUEUE, { limit: 1_000, leaseMs: LEASE_MS })
  for (const job of jobs.toSorted((a, b) => (a.subject < b.subject ? -1 : 1))) await sendMail(job)
}
