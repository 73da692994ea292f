-- Supply: what suppliers were asked for. After orders, because every request belongs to a line of one. See docs/decisions/0021.

create table supplier_requests (
  account_id text not null,
  order_id text collate "C" not null,
  line smallint not null,
  supplier text not null,
  -- Part of the request's id. Grows when the supplier has refused: the next one is another request.
  round smallint not null default 1,
  -- Never changed: a repeated request must be the same request.
  sku text not null,
  qty smallint not null check (qty between 1 and 10),
  --   asked    sent, and not answered yet: the supplier may have sold, so nobody else is asked for this line
  --   given    the links are in our tables
  --   refused  the supplier answered that it will not deliver
  --   unsent   it is certain that the request never reached the supplier: nothing is owed, another may be asked
  state text not null check (state in ('asked', 'given', 'refused', 'unsent')),
  attempts integer not null,
  -- Attempts without an answer.
  failures integer not null default 0,
  error text check (char_length(error) <= 200),
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- The attempt number of the order's job at that time. A worker whose lease was taken over has a lower number, and what it learns
  -- late changes nothing.
  fencing_token integer not null default 0,
  primary key (account_id, order_id, line, supplier),
  foreign key (account_id, order_id, line) references order_lines (account_id, order_id, n)
);

-- Requests that may be owed for; an operator can list them.
create index supplier_requests_open on supplier_requests (last_at) where state = 'asked';

grant select, insert, update on supplier_requests to shopwire_app;
