import { z } from 'zod'
import { folder, type Given } from '../values.ts'

export const workerSettings = {
  SHOPWIRE_WORKER_ORDERS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(32)
    .describe('orders one worker process fulfils at a time'),
  SHOPWIRE_WORKER_ENDPOINTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(256)
    .describe('webhook endpoints one worker process delivers to at a time; half of them may be failing ones'),
  SHOPWIRE_EVENT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(2)
    .max(36_500)
    .default(90)
    .describe('how long webhook events and their delivery log are kept'),
  SHOPWIRE_LINK_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(36_500)
    .default(0)
    .describe(
      'how long links are kept after the delivery of their order, at least as long as events; 0 keeps them permanently',
    ),
  SHOPWIRE_EVIDENCE_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(30)
    .max(36_500)
    .default(400)
    .describe('how long attempts to buy and reads of links are kept as evidence for disputes'),
  SHOPWIRE_JOURNAL: folder
    .optional()
    .describe(
      'for workers and shopwire-admin: folder of the journal of sold links, on another disk than the database; without it a restored store has no record of what it had sold',
    ),
  SHOPWIRE_JOURNAL_DAYS: z.coerce
    .number()
    .int()
    .min(2)
    .max(3_650)
    .default(35)
    .describe('how long the journal of sold links is kept; longer than the oldest backup you would restore'),
  SHOPWIRE_STATUS_FOLDER: folder
    .optional()
    .describe(
      'for workers: folder for the public status page, written every minute; without it none is written',
    ),
}

export function workerProblems(given: Given): string[] {
  const [events, links] = [given.SHOPWIRE_EVENT_RETENTION_DAYS ?? 90, given.SHOPWIRE_LINK_RETENTION_DAYS ?? 0]
  if (Number(links) === 0 || Number(links) >= Number(events)) return []
  return [
    `SHOPWIRE_LINK_RETENTION_DAYS: links cannot be erased after ${links} days while events, which carry them, are kept for ` +
      `${events}: set it to at least that, or SHOPWIRE_EVENT_RETENTION_DAYS to at most ${links}, or to 0 to keep links`,
  ]
}
