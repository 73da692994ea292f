-- compatible-with: 40
-- Money moves only inside functions that check what justifies it (service/functions/ledger and funding), so the worker's login can neither
-- credit a balance nor refund an order that was delivered, and nobody's can write a transfer. See docs/decisions/0052. shopwire_app keeps
-- its rights until no program of the release before needs them.

grant select on transfers to shopwire_functions;
grant select, update (state, decided_at, provider_payment, credited_cents, credited_transfer_id, note) on top_ups to shopwire_functions;
grant select, insert, update (taken_cents, owed_cents, written_off_cents, returned_at) on top_up_reversals to shopwire_functions;
grant select, insert on funding_references, supplier_transfers to shopwire_functions;

revoke update on balances from shopwire_worker_rights, shopwire_operator_rights;
-- An account begins with nothing.
revoke insert on balances from shopwire_operator_rights;
grant insert (account_id) on balances to shopwire_operator_rights;

revoke insert on transfers, funding_references, supplier_transfers from shopwire_worker_rights, shopwire_operator_rights;

revoke insert, update on top_ups, top_up_reversals from shopwire_worker_rights, shopwire_operator_rights;
-- Everything but crediting it.
grant update (state, decided_at, provider_payment, note, checked_at) on top_ups to shopwire_worker_rights, shopwire_operator_rights;

-- What a provider reported stays what it was.
revoke insert, update on payment_events from shopwire_worker_rights, shopwire_operator_rights;
grant update (state, next_at, decided_at, note) on payment_events to shopwire_worker_rights, shopwire_operator_rights;
