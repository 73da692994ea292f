import type { Keyring, RowBinding } from '../platform/encryption/encryption.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'

export interface Body {
  readonly text: string
  readonly isStored: boolean
}

const NO_BODY = { body_sealed: null, body_kek_id: null }

/**
 * What was refused will be sent again, with the same bytes. What was accepted need not be stored: it can be composed again, as long as
 * the form of events stays the same (service/test/orders/event-form.test.ts).
 */
export async function sealedBody(
  keyring: Keyring,
  binding: RowBinding,
  { error, body }: { readonly error: string | null; readonly body?: Body },
) {
  if (error === null || !body || body.isStored) return NO_BODY
  const { bytes, kek_id } = await keyring.seal(body.text, binding)
  return { body_sealed: bytes, body_kek_id: kek_id }
}

/** The bytes of an event that was refused or could not be sent. */
export const openBody = (keyring: Keyring, account_id: string, event_id: string, sealed: Uint8Array) =>
  keyring.open(sealed, bodyBinding(account_id, event_id))

export const eventBodies: SealedColumn = {
  table: 'events',
  keys: ['account_id', 'id'],
  column: 'body',
  bindingOf: ({ account_id, id }) => bodyBinding(String(account_id), String(id)),
}

export function bodyBinding(account_id: string, event_id: string): RowBinding {
  return { column: 'events.body', account_id, row_id: event_id }
}
