/** What `accounts erase` does with a column whose name suggests that it may be about a person. */
type Fate =
  /** Emptied, replaced, or the row is deleted. */
  | 'erased'
  /** An id of ours, from which nobody can be told once the person's row is gone. */
  | 'id'
  /** Belongs to the books: what was bought and paid, and the references that prove it. */
  | 'ledger'
  /** About the store, an item, a supplier, an operator or a machine of ours. */
  | 'store'
  /** A word or code of ours, never a text that somebody wrote. */
  | 'code'
  /** Deleted on its own after minutes or days, and of no use without what was erased. */
  | 'expires'

/** Names that suggest personal data. Columns of type jsonb and inet count too, whatever their name. */
export const SUGGESTS_A_PERSON =
  /name|mail|address|url|agent|(^|_)ip$|note|reason|subject|picture|details|actor|_by$|identifier|^value$|facts|error|answer|person|people|reference|comment|message|text|phone|device|transports/

/** A new column that is not in this list fails the test: decide what happens to it when its account is erased. */
export const PERSONAL_COLUMNS: Readonly<Record<string, Fate>> = {
  'accounts.name': 'erased',
  'accounts.closed_people': 'erased',
  'accounts.erased_people': 'id',
  'alert_addresses.email': 'erased',
  'api_keys.name': 'erased',
  'api_keys.created_by': 'id',
  'api_keys.created_by_name': 'erased',
  'audit_log.actor': 'id',
  'audit_log.details': 'erased',
  'audit_log.address': 'erased',
  'authenticator_apps.person_id': 'erased',
  'credentials.person_id': 'erased',
  'credentials.subject': 'erased',
  'database_identity.system_identifier': 'store',
  'database_identity.confirmed_by': 'store',
  'deliveries.first_address': 'erased',
  'deliveries.last_error': 'code',
  'delivery_attempts.error': 'code',
  'delivery_attempts.remote_address': 'erased',
  'delivery_attempts.answer_sealed': 'erased',
  'delivery_attempts.answer_kek_id': 'erased',
  'funding_references.reference': 'ledger',
  'invitations.email': 'erased',
  'items.name': 'store',
  'jobs.subject': 'id',
  'journal_comparisons.actor': 'store',
  'jobs.note': 'code',
  'key_last_uses.last_address': 'erased',
  'key_usage.last_address': 'erased',
  'link_fingerprints.made_by': 'store',
  'link_reads.client_address': 'erased',
  'mail_choices.person_id': 'erased',
  'memberships.person_id': 'erased',
  'notices.details': 'code',
  'notices.is_mailed': 'code',
  'one_time_values.person_id': 'erased',
  'one_time_values.value': 'erased',
  'operator_invitations.email': 'store',
  'operator_invitations.name': 'store',
  'operator_tokens.email': 'store',
  'operator_tokens.added_by': 'store',
  'order_attempts.client_address': 'erased',
  'order_lines.name': 'ledger',
  'orders.client_address': 'erased',
  'orders.cancel_reason': 'ledger',
  'outgoing_mail.to_address': 'erased',
  'outgoing_mail.subject': 'erased',
  'own_keys.name': 'store',
  'passkeys.person_id': 'erased',
  'passkeys.name': 'erased',
  'passkeys.device_type': 'erased',
  'passkeys.transports': 'erased',
  'payment_events.subject': 'ledger',
  'payment_events.facts': 'ledger',
  'payment_events.note': 'ledger',
  'payment_reviews.subject': 'ledger',
  'payment_reviews.note': 'ledger',
  'people.name': 'erased',
  'people.email': 'erased',
  'personal_tokens.person_id': 'erased',
  'personal_tokens.name': 'erased',
  'saved_views.person_id': 'erased',
  'saved_views.name': 'erased',
  'saved_views.folded_name': 'erased',
  'schema_migrations.name': 'store',
  'sessions.person_id': 'erased',
  'sessions.address': 'erased',
  'sessions.user_agent': 'erased',
  'sign_in_attempts.name_hash': 'expires',
  'status_periods.reason': 'store',
  'store_state.reason': 'store',
  'store_windows.reason': 'store',
  'supplier_requests.error': 'code',
  'supplier_transfers.reference': 'store',
  'supplier_transfers.note': 'store',
  'suppliers.name': 'store',
  'suppliers.url': 'store',
  'top_up_reversals.provider_reference': 'ledger',
  'top_ups.reference': 'ledger',
  'top_ups.created_by': 'id',
  'top_ups.created_by_name': 'erased',
  'top_ups.note': 'erased',
  'transfers.reference': 'ledger',
  'transfers.note': 'ledger',
  'webhook_endpoints.url': 'erased',
  'webhook_endpoints.set_by': 'id',
  'webhook_endpoints.last_error': 'code',
  'webhook_endpoints.set_by_name': 'erased',
}
