import { getAccount } from '../../accounts/account.ts'
import type { Db } from '../../platform/database/db.ts'
import { listAttempts, listDeliveries } from '../../webhooks/delivery-log.ts'
import { readHealth } from '../../webhooks/endpoint.ts'
import { listNotices } from '../../webhooks/notices.ts'
import { countRecoverable } from '../../webhooks/recover.ts'

/** Endpoints of accounts and their deliveries. */
export function webhookReads(db: Db) {
  return {
    async showWebhook(account_id: string) {
      await getAccount(db, account_id)
      return readHealth(db, account_id)
    },

    async listDeliveries(account_id: string, limit: number) {
      await getAccount(db, account_id)
      return listDeliveries(db, account_id, limit)
    },

    listAttempts: (account_id: string, event_id: string) => listAttempts(db, account_id, event_id),

    listNotices: (account_id: string, limit: number) => listNotices(db, account_id, limit),

    async countRecoverable(account_id: string, { from, until }: { from: Date; until: Date }) {
      await getAccount(db, account_id)
      return countRecoverable(db, account_id, { from, until })
    },
  }
}
