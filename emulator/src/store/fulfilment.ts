import { randomBytes } from 'node:crypto'
import type { Job, JobEnd, ObtainFromSuppliers, Operator } from '@shopwire/service/embedded'
import type { Faults } from '../faults/faults.ts'

type Fulfil = (job: Job) => Promise<JobEnd>

export interface FulfilmentDeps {
  readonly faults: Faults
  /** How long every order stays paid. */
  readonly afterMs: number
  /** How much time was skipped since the order. */
  skippedSinceMs(thenMs: number): number
  operator(): Operator
  onOrder(account_id: string, order_id: string): Promise<void>
}

/** The decision about an order, made when it is first processed. */
interface Plan {
  readonly dueMs: number
  readonly fails: boolean
}

const PLANS_MAX = 10_000

/** The supplier of every item; it can always deliver. */
export const SUPPLIER = 'emulator'

export const endlessSupply: ObtainFromSuppliers = async ({ missing }) => ({
  kind: 'given',
  supplier: SUPPLIER,
  round: null,
  said_cents: null,
  links: Array.from({ length: missing }, madeUpLink),
})

/** The domain `example` is reserved, so the link belongs to nobody. */
export function madeUpLink(): string {
  return `https://gift.example/${randomBytes(12).toString('base64url')}`
}

/** The service's fulfilment, except for orders that a fault delays or fails. */
export function interferingFulfilment(real: Fulfil, deps: FulfilmentDeps): Fulfil {
  const plans = new Map<string, Plan>()

  function plan({ account_id, created_at }: Job): Plan {
    const taken = deps.faults.take('order', { account_id })
    const isFired = taken?.fire() ?? false
    const slowMs = isFired && taken?.name === 'slow_fulfilment' ? Number(taken.params.ms) : 0
    return {
      dueMs: created_at.getTime() + deps.afterMs + slowMs,
      fails: isFired && taken?.name === 'supplier_failure',
    }
  }

  return async (job) => {
    const { account_id, subject: order_id } = job
    const planned = plans.get(order_id) ?? plan(job)
    plans.set(order_id, planned)
    if (plans.size > PLANS_MAX) plans.delete(plans.keys().next().value as string)
    const waitMs = planned.dueMs - Date.now() - deps.skippedSinceMs(job.created_at.getTime())
    if (waitMs > 0) return { kind: 'again', waitMs, note: 'delayed by the emulator' }
    if (planned.fails) {
      await deps.operator().cancelOrder(order_id, 'The supplier could not deliver.')
      await deps.onOrder(account_id, order_id)
      return { kind: 'done' }
    }
    const end = await real(job)
    if (end.kind === 'done') {
      plans.delete(order_id)
      await deps.onOrder(account_id, order_id)
    }
    return end
  }
}
