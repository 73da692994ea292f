import type { LiveTopic } from '@shopwire/contract/dashboard'
import type { QueryClient } from '@tanstack/react-query'
import { openLive as open } from '#client/live.ts'
import { api, type ReadName } from './client.ts'

/**
 * Which hints put a read out of date. A hint says that something changed, never what: the reads say that. It is a property of the read,
 * not of the screen that asks: several show the same one.
 */
const topicsOf: { readonly [Name in ReadName]?: readonly LiveTopic[] } = {
  getHome: ['orders', 'balance', 'deliveries', 'webhook', 'keys'],
  listOrders: ['orders'],
  sumOrders: ['orders'],
  getOrder: ['orders', 'deliveries'],
  getWebhook: ['webhook', 'deliveries'],
  deliveryHours: ['deliveries'],
  listDeliveries: ['deliveries'],
  getDelivery: ['deliveries'],
  getBalance: ['balance'],
  getBalanceAlert: ['balance'],
  getSpend: ['balance'],
  listTransfers: ['balance'],
  listTopUps: ['balance'],
  getTopUp: ['balance'],
  listKeys: ['keys'],
  readKey: ['keys'],
  listTokens: ['keys'],
  getTeam: ['team'],
  getMailPreferences: ['team'],
  listViews: ['team'],
}

/** `onRefused`: the service wants no stream here; the session says why. */
export const openLive = (client: QueryClient, onRefused: () => void): (() => void) =>
  open({ path: api.href('live'), topicsOf, client, onRefused })
