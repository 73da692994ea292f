import type { ChosenMail } from '@shopwire/contract/dashboard'
import type { Tx } from '../database/db.ts'
import type { Letter } from './letter.ts'

/** A letter to addresses outside the team, which have confirmed that they want it. */
export interface OutsideLetter {
  readonly emails: readonly string[]
  readonly letter: Letter
}

/**
 * Writes to the members of an account who get mail of this kind, in the transaction that makes the news true; each recipient gets one
 * mail. The module that knows members is a layer above: the programs connect it.
 */
export type Notify = (
  tx: Tx,
  account_id: string,
  kind: ChosenMail,
  letter: Letter,
  outside?: OutsideLetter,
) => Promise<void>
