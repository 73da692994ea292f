import { apiKeySecrets } from '../accounts/api-key.ts'
import type { Db } from '../platform/database/db.ts'
import { ownKeySecrets } from '../platform/encryption/own-key.ts'
import { countByKek, type SealedColumn } from '../platform/encryption/re-encrypt.ts'
import { mailBodies } from '../platform/mail/mail.ts'
import { authenticatorSecrets, recoveryCodes } from '../sessions/authenticator-apps.ts'
import { orderLinkSecrets, poolLinkSecrets } from '../supply/gift-link.ts'
import { supplierSecrets } from '../supply/suppliers.ts'
import { deliveryAnswers } from '../webhooks/answer.ts'
import { webhookSecrets } from '../webhooks/endpoint.ts'
import { eventBodies } from '../webhooks/event-body.ts'

/** Every encrypted column. A column missing here would become unreadable when the old key is removed. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  apiKeySecrets,
  supplierSecrets,
  ownKeySecrets,
  poolLinkSecrets,
  orderLinkSecrets,
  webhookSecrets,
  eventBodies,
  mailBodies,
  deliveryAnswers,
  authenticatorSecrets,
  recoveryCodes,
]

/** How many values are under each encryption key. */
export const countSealed = (db: Db) => countByKek(db, SEALED_COLUMNS)
