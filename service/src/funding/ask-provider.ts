import type { PaidSession, PaymentFact, PaymentProvider, ReadCharge, ReadDispute } from './provider.ts'

/** What the provider says about everything that the events of one payment name. Null: it knows no such thing. */
export interface Asked {
  readonly session: PaidSession | undefined
  readonly charges: ReadonlyMap<string, ReadCharge | null>
  readonly disputes: ReadonlyMap<string, ReadDispute | null>
}

/** An event says what to ask about, and nothing else of it is believed. No transaction is open while the provider answers. */
export async function askProvider(provider: PaymentProvider, facts: readonly PaymentFact[]): Promise<Asked> {
  const paid = facts.find((fact) => fact.kind === 'paid')
  const session = paid && (await provider.readSession(paid.session))
  const charges = new Map<string, ReadCharge | null>()
  const disputes = new Map<string, ReadDispute | null>()
  for (const fact of facts) {
    if (fact.kind === 'refunded') charges.set(fact.charge, await provider.readCharge(fact.charge))
    if (fact.kind === 'disputed' || fact.kind === 'dispute-won')
      disputes.set(fact.dispute, await provider.readDispute(fact.dispute))
  }
  return { session, charges, disputes }
}
