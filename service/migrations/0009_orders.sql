-- How many orders an account has, counted beside its money under the same lock: a list of orders says so on every page, and
-- an account may have millions.
alter table balances add column order_count bigint not null default 0 check (order_count >= 0);

create table orders (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  -- For ever: a key that bought something never buys again.
  idempotency_key text collate "C" not null,
  -- SHA-256 of the canonical cart: the same key with another one is refused.
  request_hash bytea not null,
  status text not null default 'paid' check (status in ('paid', 'delivered', 'cancelled')),
  total_cents bigint not null check (total_cents between 0 and 500000),
  key_id text not null,
  -- The time in the id, so that newest first is the order of the primary key.
  created_at timestamptz not null,
  delivered_at timestamptz,
  cancelled_at timestamptz,
  cancel_reason text check (char_length(cancel_reason) between 1 and 200),
  primary key (account_id, id),
  unique (account_id, idempotency_key),
  check ((status = 'delivered') = (delivered_at is not null)),
  check ((status = 'cancelled') = (cancelled_at is not null)),
  check ((status = 'cancelled') = (cancel_reason is not null)),
  check (delivered_at >= created_at and cancelled_at >= created_at)
);

-- The work ahead, oldest first; small however many orders there were.
create index orders_awaiting on orders (created_at, account_id, id) where status = 'paid';

-- For an operator who knows the order but not the account: the time is in the id. Costs next to nothing to keep.
create index orders_created on orders using brin (created_at) with (autosummarize = on);

-- Name and price as they were bought: a receipt does not follow the catalogue, and no key ties the two together.
create table order_lines (
  account_id text not null,
  order_id text collate "C" not null,
  n smallint not null check (n between 1 and 25),
  item_id text collate "C" not null,
  name text not null,
  qty smallint not null check (qty between 1 and 10),
  unit_price_cents bigint not null check (unit_price_cents >= 0),
  primary key (account_id, order_id, n),
  foreign key (account_id, order_id) references orders (account_id, id)
);

grant select, insert, update (status, delivered_at, cancelled_at, cancel_reason) on orders to shopwire_app;
grant select, insert on order_lines to shopwire_app;

-- What happened, to be told to callers. Written in the commit that makes it true.
create table events (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  type text not null check (type in ('order.accepted', 'order.delivered', 'order.cancelled', 'catalogue.changed', 'test')),
  order_id text collate "C",
  -- Of catalogue.changed.
  revision bigint,
  created_at timestamptz not null,
  primary key (account_id, id),
  check ((type like 'order.%') = (order_id is not null)),
  check ((type = 'catalogue.changed') = (revision is not null))
);

create unique index events_order_once on events (account_id, order_id, type) where order_id is not null;

grant select, insert on events to shopwire_app;

-- Every event goes through here, in the transaction that makes it true.
create function record_event(
  p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamptz
)
returns void
language plpgsql as $$
begin
  insert into events (account_id, id, type, order_id, revision, created_at)
  values (p_account_id, p_event_id, p_type, p_order_id, p_revision, p_created_at);
end
$$;

revoke execute on function record_event from public;
grant execute on function record_event to shopwire_app;

-- Buys a whole cart or nothing, in one round trip. Locks the account's balance first, like every money move. Verdicts:
--   bought        order, lines, transfer, balance, event and job are written
--   earlier       this key bought this cart before; order_id is that order
--   conflict      this key bought another cart
--   changed       the account or a key of it changed since the caller was let in
--   store_closed, item_unavailable, price_changed, order_total_exceeded, insufficient_funds
--                 nothing is written and the idempotency key stays free; `details` names the items at fault
create function place_order(
  p_account_id text, p_access_version bigint, p_key_id text, p_order_id text, p_transfer_id text, p_event_id text,
  p_created_at timestamptz, p_idempotency_key text, p_request_hash bytea, p_ids text[], p_qtys integer[],
  p_expected bigint[],
  out verdict text, out order_id text, out total_cents bigint, out names text[], out unit_prices_cents bigint[],
  out details text
)
language plpgsql
-- Every statement below is a look-up by key: planning it once is enough, and a quarter of the cost of an order is saved.
set plan_cache_mode = force_generic_plan
as $$
declare
  c_total_max constant bigint := 500000;
  v_balance bigint;
  v_transfers bigint;
  v_earlier record;
  v_sold_out text;
  v_repriced text;
begin
  select b.balance_cents, b.transfer_count
    into strict v_balance, v_transfers
    from balances b
   where b.account_id = p_account_id
     for update;

  -- Asked below the lock, so that a copy that waited sees what the first one did.
  perform from accounts a where a.id = p_account_id and a.access_version = p_access_version;
  if not found then
    verdict := 'changed';
    return;
  end if;

  select o.id, o.request_hash
    into v_earlier
    from orders o
   where o.account_id = p_account_id
     and o.idempotency_key = p_idempotency_key;
  if found then
    order_id := v_earlier.id;
    verdict := case when v_earlier.request_hash = p_request_hash then 'earlier' else 'conflict' end;
    return;
  end if;

  if not store_is_open() then
    verdict := 'store_closed';
    return;
  end if;

  -- One look at the catalogue: what is checked here is what is written below.
  select sum(c.qty * c.unit_price_cents) filter (where c.status <> 'sold_out'),
         array_agg(c.name order by c.n),
         array_agg(c.unit_price_cents order by c.n),
         string_agg(c.id, ', ' order by c.n) filter (where c.status = 'sold_out'),
         string_agg(c.id || ' costs ' || c.unit_price_cents || ' cents now, ' || c.expected_price_cents || ' were expected',
                    '; ' order by c.n) filter (where c.status = 'price_changed')
    into total_cents, names, unit_prices_cents, v_sold_out, v_repriced
    from price_cart(p_ids, p_qtys, p_expected) c;
  if v_sold_out is not null then
    verdict := 'item_unavailable';
    details := v_sold_out;
    return;
  end if;
  if v_repriced is not null then
    verdict := 'price_changed';
    details := v_repriced;
    return;
  end if;
  if total_cents > c_total_max then
    verdict := 'order_total_exceeded';
    return;
  end if;
  if total_cents > v_balance then
    verdict := 'insufficient_funds';
    return;
  end if;

  verdict := 'bought';
  order_id := p_order_id;
  insert into orders (account_id, id, idempotency_key, request_hash, total_cents, key_id, created_at)
  values (p_account_id, p_order_id, p_idempotency_key, p_request_hash, total_cents, p_key_id, p_created_at);
  insert into order_lines (account_id, order_id, n, item_id, name, qty, unit_price_cents)
  select p_account_id, p_order_id, l.n, l.item_id, l.name, l.qty, l.price
    from unnest(p_ids, names, p_qtys, unit_prices_cents) with ordinality as l (item_id, name, qty, price, n);
  update balances b
     set balance_cents = v_balance - total_cents,
         transfer_count = v_transfers + 1,
         order_count = b.order_count + 1
   where b.account_id = p_account_id;
  insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, order_id, created_at)
  values (p_account_id, v_transfers + 1, p_transfer_id, 'order', 'customer', 'house:sales', total_cents,
          v_balance - total_cents, p_order_id, p_created_at);
  perform record_event(p_account_id, p_event_id, 'order.accepted', p_order_id, null, p_created_at);
  insert into jobs (account_id, queue, subject, run_at, created_at)
  values (p_account_id, 'fulfil', p_order_id, clock_timestamp(), p_created_at);
end
$$;

revoke execute on function place_order from public;
grant execute on function place_order to shopwire_app;
