import type { Check, Group } from '../check.ts'
import { authentication } from './authentication.ts'
import { catalogue } from './catalogue.ts'
import { clock } from './clock.ts'
import { errors } from './errors.ts'
import { events } from './events.ts'
import { httpSurface } from './http-surface.ts'
import { links } from './links.ts'
import { nonces } from './nonces.ts'
import { orderReading } from './order-reading.ts'
import { orders } from './orders.ts'
import { quote } from './quote.ts'
import { rateLimits } from './rate-limits.ts'
import { scopes } from './scopes.ts'
import { status } from './status.ts'
import { webhookConfiguration } from './webhook-configuration.ts'

export const groups: readonly Group[] = [
  status,
  authentication,
  clock,
  nonces,
  scopes,
  rateLimits,
  catalogue,
  quote,
  orders,
  orderReading,
  links,
  webhookConfiguration,
  events,
  errors,
  httpSurface,
]

export const checks: readonly Check[] = groups.flatMap((group) => group.checks)
