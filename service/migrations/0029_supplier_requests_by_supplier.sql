-- migrate: no-transaction
-- compatible-with: 28
-- needed: no
-- The requests to one supplier, by the time that its statement lists them under.
create index concurrently supplier_requests_by_supplier on supplier_requests (supplier, (coalesce(ended_at, first_at)));
