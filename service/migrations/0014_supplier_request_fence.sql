-- Which lease of the order's job the request belongs to: the job's attempt number, as a fencing token. A worker whose lease was
-- taken over has a smaller number, and what it learns late changes nothing.
alter table supplier_requests add column fencing_token integer not null default 0;
