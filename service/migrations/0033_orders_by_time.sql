-- migrate: no-transaction
-- compatible-with: 30
-- needed: no
-- Finds an order by its id alone, which begins with the time at which it was made. Rows move when they are delivered, and reuse the space
-- of older ones: the block ranges of orders_created came to cover most of the table.
create index concurrently orders_by_time on orders (created_at);
