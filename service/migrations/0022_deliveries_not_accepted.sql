-- migrate: no-transaction
-- compatible-with: 21
-- needed: no
-- For the deliveries of an account that were given up or cancelled, newest first. Accepted ones have no entry, so that it costs them nothing.
create index concurrently deliveries_not_accepted on deliveries (account_id, state, event_id) where state in ('failed', 'cancelled');
