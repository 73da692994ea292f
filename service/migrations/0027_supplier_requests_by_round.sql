-- migrate: no-transaction
-- compatible-with: 26
-- The next file makes this the primary key of supplier_requests, so that every request to a supplier has a row of its own.
create unique index concurrently supplier_requests_by_round on supplier_requests (account_id, order_id, line, supplier, round);
