-- migrate: no-transaction
-- compatible-with: 22
-- needed: no
-- For the latest events of a type. The two types that every order has are found among the latest events of the account.
create index concurrently events_by_rare_type on events (account_id, type, id) where type not in ('order.accepted', 'order.delivered');
