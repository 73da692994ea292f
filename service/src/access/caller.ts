import type { Scope } from '@shopwire/contract'
import { refuse } from '../platform/trouble.ts'
import type { Usage } from './admission.ts'

/** The signer of a request: authenticated, not replayed, within its limits. Its scopes are checked next. */
export interface Caller {
  readonly key_id: string
  readonly account_id: string
  readonly account_name: string
  readonly isSuspended: boolean
  readonly scopes: ReadonlySet<Scope>
  /** Increases whenever the rights of the account or one of its keys change: money moves only with the latest version. */
  readonly access_version: number
  readonly usage: Usage
}

export function authorise(caller: Caller, scope: Scope): void {
  if (caller.isSuspended) {
    throw refuse('account_suspended', 'This account is suspended. Contact the store to have it resumed.')
  }
  if (!caller.scopes.has(scope)) {
    throw refuse(
      'insufficient_scope',
      `This key lacks the scope ${scope}. Use a key that has it, or ask the store for one.`,
    )
  }
}
