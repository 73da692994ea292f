-- migrate: no-transaction
-- compatible-with: 15
-- needed: no
-- The paid and the cancelled orders of one account, newest or oldest first, and how many there are. Small: most orders are delivered.
create index concurrently orders_not_delivered on orders (account_id, status, id) where status <> 'delivered';
