import type { Reply } from '../../api/client.ts'

export type Webhook = Reply<'getWebhook'>
