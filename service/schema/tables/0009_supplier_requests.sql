-- Supply: requests to suppliers. After orders, because every request belongs to a line of one. See docs/decisions/0011.

-- Every request is an obligation with its own row, lifecycle and cost.
create table supplier_requests (
  account_id text collate "C" not null,
  order_id text collate "C" not null,
  line smallint not null,
  supplier text collate "C" not null references suppliers (name),
  -- Part of the request's id, from 1 for each line. Grows when a supplier has refused: the next one is another request.
  round integer not null default 1,
  -- Never changed: a repeated request must be the same request.
  sku text not null,
  qty smallint not null check (qty between 1 and 10),
  -- The lifecycle; functions/supply/advance_supplier_request.sql has the allowed transitions. The first three are open: the supplier may
  -- have sold, so nobody else is asked for this line.
  --   requested    recorded, and perhaps sent
  --   accepted     the supplier is making the links (202)
  --   unknown      sent, and no answer or an invalid one
  --   fulfilled    the links came, and at least one went to the order
  --   collected    the links came when the order no longer needed them, and went to the pool
  --   refused      the supplier will not deliver
  --   unsent       it is certain that the supplier received nothing: nothing is owed, another may be asked
  --   written_off  an operator decided not to wait any longer; the supplier may still send a bill
  stage text not null default 'requested',
  attempts integer not null,
  -- Attempts without an answer.
  failures integer not null default 0,
  error text check (char_length(error) <= 200),
  -- What one link was expected to cost when it was requested; null: not configured.
  unit_cost_cents bigint,
  -- What the supplier said that all links of the request cost.
  said_cents bigint,
  -- The amount booked for it.
  cost_cents bigint,
  -- How many of the links had never been in this store; null until links came.
  links smallint,
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- Null while it is open.
  ended_at timestamptz,
  -- Kept when the links came after all: an operator had decided that another supplier may be called.
  written_off_at timestamptz,
  -- The attempt number of the order's job at that time. A worker whose lease was taken over has a lower number, and its late
  -- results change nothing.
  fencing_token integer not null default 0,
  primary key (order_id, line, supplier, round),
  foreign key (order_id, line) references order_lines (order_id, line)
);

-- Requests that may still be owed for; an operator can list them.
create index supplier_requests_open on supplier_requests (last_at) where ended_at is null;
-- The requests to one supplier, by the time at which its statement lists them.
create index supplier_requests_by_supplier on supplier_requests (supplier, (coalesce(ended_at, first_at)));
