export const scales = ['tiny', 'small', 'full', 'large'] as const

export const webhookParts = ['speed', 'isolation', 'fan-out'] as const
export type WebhookPart = (typeof webhookParts)[number]

export interface BenchOptions {
  /** Of each measured run. */
  readonly seconds: number
  /** How often the runs are repeated, all of them in turn; the median counts. */
  readonly rounds: number
  readonly profile: boolean
  /** Of `orders`: also with a worker that fulfils the orders. */
  readonly worker: boolean
  /** Of `growth`: how large the large shop is. Of `churn`: how many orders there are, and come. */
  readonly scale: (typeof scales)[number]
  /** Of `growth`: writes the picture even at the small scale. */
  readonly plot: boolean
  /** Of `webhooks`: how long the worker's memory is watched beside bad receivers; 0 for not at all. */
  readonly minutes: number
  /** Of `webhooks`: one of its parts instead of all. */
  readonly only: WebhookPart | undefined
  /** Of `dashboard`: how many orders the account has. Of `restock`: how many wait. Of `churn`: how many come. */
  readonly orders: number | undefined
  /** Of `churn`: orders a second; 0 for as many as are delivered. */
  readonly rate: number
  /** Of `churn` and `fulfilment`: prints the statements that took PostgreSQL longest. Counting them costs some of its time. */
  readonly statements: boolean
  /** Of `reads` and `orders`: also with so many dashboards open; 0 for none. */
  readonly dashboards: number
  /** Of `reads`: also on a Redis Cluster of three masters. */
  readonly cluster: boolean
  /** Load generator, engines and service each on cores of their own. */
  readonly pin: boolean
  /** Begins only when the machine has little else to do. */
  readonly quiet: boolean
  /** Of `all`: short runs. */
  readonly quick: boolean
  /** Of `all`: the figures are recorded, for later runs to be compared with. */
  readonly record: boolean
}
