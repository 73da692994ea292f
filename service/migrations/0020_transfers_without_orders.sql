-- migrate: no-transaction
-- compatible-with: 19
-- needed: no
-- Top-ups, refunds and adjustments of an account, newest first, without reading past its orders. Placing an order does not touch it.
create index concurrently transfers_without_orders on transfers (account_id, kind, seq) where kind <> 'order';
