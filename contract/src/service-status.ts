import Type, { type Static } from 'typebox'
import { Count, closed, DateTime } from './shapes.ts'

export const ServiceStatus = closed({
  status: Type.Enum(['operational', 'degraded'], { type: 'string' }),
  api: Type.Enum(['up', 'unavailable'], { type: 'string' }),
  store: Type.Enum(['open', 'closed'], { type: 'string' }),
  /** Orders that are paid and not yet delivered. It says nothing about how long delivery takes. */
  queue: Count,
  /** When these values were sampled. */
  updated: DateTime,
})
export type ServiceStatus = Static<typeof ServiceStatus>
