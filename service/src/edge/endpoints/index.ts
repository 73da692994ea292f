import type { LiveCatalogue } from '../../catalogue/live-catalogue.ts'
import { type Place, placeInBatches } from '../../orders/placing/order-batches.ts'
import type { Db } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import { checkWebhookUrl } from '../../webhooks/url-rules.ts'
import type { EdgeMetrics } from '../metrics.ts'
import { getBalance } from './balance.ts'
import { getCatalogue, getCatalogueItem } from './catalogue.ts'
import type { Endpoint } from './endpoint.ts'
import { getOrder, getOrders, postOrders } from './orders.ts'
import { getPing } from './ping.ts'
import { postQuote } from './quote.ts'
import { getStatus } from './status.ts'
import { deleteWebhook, getWebhook, postWebhook, postWebhookTest } from './webhook.ts'

export interface EndpointDeps {
  readonly db: Db
  readonly catalogue: LiveCatalogue
  readonly vault: LinkVault
  readonly keyring: Keyring
  readonly metrics: Pick<EdgeMetrics, 'orderRequests'>
  readonly place?: Place
  /** Why this process cannot serve callers well although the database answers; undefined when it can. */
  problem?(): string | undefined
  /** False when no signed request can be served. */
  isServing?(): boolean
  /** Returns the normalised URL that will be connected to, or refuses it. The service's own rules by default. */
  checkUrl?(url: string, account_id: string): Promise<string>
}

/** Every endpoint that is served. The scope matrix and the published contract are made from this list. */
export const allEndpoints = ({
  db,
  catalogue,
  vault,
  keyring,
  metrics,
  place = placeInBatches(db),
  problem = () => undefined,
  isServing = () => true,
  checkUrl = checkWebhookUrl,
}: EndpointDeps): Endpoint[] => [
  getStatus(db, problem, isServing),
  getPing(),
  getBalance(db),
  getCatalogue(catalogue),
  getCatalogueItem(catalogue),
  postQuote(db),
  postOrders(db, place, vault, metrics),
  getOrders(db),
  getOrder(db, vault),
  getWebhook(db),
  postWebhook(db, keyring, checkUrl),
  deleteWebhook(db),
  postWebhookTest(db),
]
