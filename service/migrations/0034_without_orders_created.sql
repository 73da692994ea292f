-- migrate: no-transaction
-- compatible-with: 30
-- needed: no
-- orders_by_time serves what this one served.
drop index concurrently orders_created;
