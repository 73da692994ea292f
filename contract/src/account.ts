import Type, { type Static } from 'typebox'
import { Cents, Currency, closed } from './shapes.ts'

export const Balance = closed({ balance_cents: Cents, currency: Currency })
export type Balance = Static<typeof Balance>

export const PingResult = closed({
  ok: Type.Literal(true),
  /** The account's name. */
  name: Type.String(),
  // Both read `active` today: a key or account in any other state is refused before it gets here. They stay open
  // strings because other values are reserved.
  status: Type.String(),
  account_status: Type.String(),
})
export type PingResult = Static<typeof PingResult>
