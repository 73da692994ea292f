-- The only function that sells. Each cart is bought whole or not at all; carts of several accounts in one transaction and one round
-- trip. At most one cart per account: a second one makes the whole call fail on the key of `transfers`, and nothing is written.
-- The balance is locked first, like in every movement of money. Verdicts:
--   bought        order, lines, transfer, balance, event and job are written
--   earlier       this idempotency key bought this cart before; order_id is that order
--   conflict      this idempotency key bought another cart
--   changed       the account or a key of it changed since the caller was admitted, or there is no such account
--   store_closed, item_unavailable, price_changed, order_total_exceeded, insufficient_funds
--                 nothing is written and the idempotency key stays free; `details` names the items at fault
--   busy          somebody else holds the balance, the endpoint or the endpoint's job: nothing is written. Only without p_may_wait, so
--                 that no account waits for another; such a cart is then placed by itself, with p_may_wait, which is for one cart
-- Arrays of orders are aligned. The lines of all carts follow one another; p_line_counts says how many each cart has.
-- Rows are sorted before they are aggregated, not by each aggregate, which would sort a dozen times for one order.
create or replace function place_orders(
  p_may_wait boolean, p_account_ids text[], p_access_versions bigint[], p_key_ids text[], p_order_ids text[],
  p_event_ids text[], p_created_ats timestamptz[], p_idempotency_keys text[], p_request_hashes bytea[], p_request_ids text[],
  p_client_addresses text[], p_line_counts integer[], p_item_ids text[], p_qtys integer[], p_expected bigint[],
  out verdicts text[], out order_ids text[], out totals_cents bigint[], out names text[], out unit_prices_cents bigint[],
  out details text[]
)
language plpgsql
-- Sells with the rights of its owner: its callers cannot write an order, a balance or a transfer themselves.
security definer
set search_path = pg_catalog, shopwire, pg_temp
-- Every statement below is a look-up by key: planned once, which saves a quarter of the cost of an order. And with sequential scans
-- off: by statistics of a table that was empty when it was analysed, a scan would look cheaper. A table of one row is scanned all
-- the same, at an inflated cost estimate, for which PostgreSQL would otherwise compile the statement first.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  c_total_max constant bigint := 500000;
  -- The cart of each line, and how many lines come before those of each cart.
  v_places integer[] := '{}';
  v_lines_before integer[] := '{}';
  v_is_open boolean;
  v_balances bigint[];
  v_transfers bigint[];
  v_have_sold_out boolean[];
  v_sold_out text[];
  v_have_repriced boolean[];
  v_repriced text[];
  v_endpoint_ids text[];
begin
  if not coalesce(
    1 <= all (p_line_counts)
    and cardinality(p_item_ids) = all (array[cardinality(p_qtys), cardinality(p_expected)])
    and cardinality(p_account_ids) = all (array[
      cardinality(p_access_versions), cardinality(p_key_ids), cardinality(p_order_ids),
      cardinality(p_event_ids), cardinality(p_created_ats), cardinality(p_idempotency_keys), cardinality(p_request_hashes),
      cardinality(p_request_ids), cardinality(p_client_addresses), cardinality(p_line_counts)])
    and (cardinality(p_account_ids) = 1 or not p_may_wait),
    false)
  then
    raise 'the arguments of place_orders do not fit together' using errcode = 'invalid_parameter_value';
  end if;
  -- Counted here, never taken from the caller: a line that belonged to no cart would be delivered without being paid.
  for v_place in 1 .. cardinality(p_line_counts) loop
    v_lines_before := v_lines_before || cardinality(v_places);
    v_places := v_places || array_fill(v_place, array[p_line_counts[v_place]]);
  end loop;
  if cardinality(v_places) <> cardinality(p_item_ids) then
    raise 'the carts have % lines, and % were given', cardinality(v_places), cardinality(p_item_ids)
      using errcode = 'invalid_parameter_value';
  end if;

  if p_may_wait then
    select array[b.balance_cents], array[b.transfer_count]
      into v_balances, v_transfers
      from balances b
     where b.account_id = p_account_ids[1]
       for no key update;
  else
    select array_agg(o.balance_cents), array_agg(o.transfer_count)
      into v_balances, v_transfers
      from (
        select b.balance_cents, b.transfer_count
          from generate_series(1, cardinality(p_account_ids)) as o (place)
          left join lateral (
            select balances.balance_cents, balances.transfer_count
              from balances
             where balances.account_id = p_account_ids[o.place]
               for no key update skip locked
          ) b on true
         order by o.place
      ) o;
  end if;

  -- Separate statements from here on: they see what was committed before the locks were taken. The catalogue is read once: what is
  -- checked here is what is written below.
  v_is_open := store_is_open();
  with priced as materialized (
    select v_places[l.n] as place, l.n, l.id, l.qty, l.expected_price_cents, l.name, l.unit_price_cents, l.status, l.is_short
      from price_cart(p_item_ids, p_qtys, p_expected) l
     order by l.n
  )
  select array_agg(c.total_cents), array_agg(c.has_sold_out), array_agg(c.sold_out), array_agg(c.has_repriced), array_agg(c.repriced),
         (select array_agg(p.name) from priced p),
         (select array_agg(p.unit_price_cents) from priced p)
    into totals_cents, v_have_sold_out, v_sold_out, v_have_repriced, v_repriced, names, unit_prices_cents
    from (
      select p.place,
             (sum(p.qty * p.unit_price_cents) filter (where p.status <> 'sold_out'))::bigint as total_cents,
             bool_or(p.status = 'sold_out') as has_sold_out,
             string_agg(p.id || case when p.is_short then ' (fewer than ' || p.qty || ' left)' else '' end, ', ')
               filter (where p.status = 'sold_out') as sold_out,
             bool_or(p.status = 'price_changed') as has_repriced,
             string_agg(p.id || ' costs ' || p.unit_price_cents || ' cents now, ' || p.expected_price_cents || ' were expected',
                        '; ') filter (where p.status = 'price_changed') as repriced
        from priced p
       group by p.place
       order by p.place
    ) c;

  select array_agg(v.verdict), array_agg(v.order_id),
         array_agg(case v.verdict when 'item_unavailable' then v_sold_out[v.place] when 'price_changed' then v_repriced[v.place] end)
    into verdicts, order_ids, details
    from (
      select o.place, coalesce(earlier.id, p_order_ids[o.place]) as order_id,
             case
               when account.id is null then 'changed'
               when v_balances[o.place] is null then 'busy'
               when earlier.request_hash = p_request_hashes[o.place] then 'earlier'
               when earlier.id is not null then 'conflict'
               when not v_is_open then 'store_closed'
               when v_have_sold_out[o.place] then 'item_unavailable'
               when v_have_repriced[o.place] then 'price_changed'
               when totals_cents[o.place] > c_total_max then 'order_total_exceeded'
               when totals_cents[o.place] > v_balances[o.place] then 'insufficient_funds'
               else 'bought'
             end as verdict
        from generate_series(1, cardinality(p_account_ids)) as o (place)
        left join lateral (
          select accounts.id
            from accounts
           where accounts.id = p_account_ids[o.place]
             and accounts.access_version = p_access_versions[o.place]
           limit 1
        ) account on true
        left join lateral (
          select orders.id, orders.request_hash
            from orders
           where orders.account_id = p_account_ids[o.place]
             and orders.idempotency_key = p_idempotency_keys[o.place]
           limit 1
        ) earlier on true
       order by o.place
    ) v;
  if p_may_wait and 'busy' = any (verdicts) then
    raise 'an account that buys has no balance';
  end if;

  -- As in record_event: the endpoint stays locked until the commit, so that a change of URL cancels this delivery too.
  if p_may_wait then
    select array[e.id]
      into v_endpoint_ids
      from webhook_endpoints e
     where verdicts[1] = 'bought'
       and e.account_id = p_account_ids[1]
       and e.ended_at is null
       for key share;
  else
    select array_agg(o.endpoint_id), array_agg(case when o.is_busy then 'busy' else verdicts[o.place] end)
      into v_endpoint_ids, verdicts
      from (
        select o.place, endpoint.id as endpoint_id,
               endpoint.id is not null and held_endpoint.is_held is null
                 or job.is_there is not null and held_job.is_held is null as is_busy
          from generate_series(1, cardinality(p_account_ids)) as o (place)
          left join lateral (
            select webhook_endpoints.id
              from webhook_endpoints
             where verdicts[o.place] = 'bought'
               and webhook_endpoints.account_id = p_account_ids[o.place]
               and webhook_endpoints.ended_at is null
             limit 1
          ) endpoint on true
          left join lateral (
            select true as is_held
              from webhook_endpoints
             where webhook_endpoints.account_id = p_account_ids[o.place]
               and webhook_endpoints.id = endpoint.id
               and webhook_endpoints.ended_at is null
               for key share skip locked
          ) held_endpoint on true
          left join lateral (
            select true as is_there
              from jobs
             where jobs.account_id = p_account_ids[o.place]
               and jobs.queue = 'deliver'
               and jobs.subject = endpoint.id
             limit 1
          ) job on true
          left join lateral (
            select true as is_held
              from jobs
             where jobs.account_id = p_account_ids[o.place]
               and jobs.queue = 'deliver'
               and jobs.subject = endpoint.id
               for update skip locked
          ) held_job on true
         order by o.place
      ) o;
  end if;

  with bought as materialized (
    select p_account_ids[o.place] as account_id, p_key_ids[o.place] as key_id, p_order_ids[o.place] as order_id,
           p_event_ids[o.place] as event_id, p_created_ats[o.place] as created_at,
           p_idempotency_keys[o.place] as idempotency_key, p_request_hashes[o.place] as request_hash,
           p_request_ids[o.place] as request_id, p_client_addresses[o.place] as client_address,
           totals_cents[o.place] as total_cents, v_balances[o.place] as balance, v_transfers[o.place] as transfers,
           v_endpoint_ids[o.place] as endpoint_id
      from generate_series(1, cardinality(p_account_ids)) as o (place)
     where verdicts[o.place] = 'bought'
  ), new_orders as (
    insert into orders (account_id, id, idempotency_key, request_hash, total_cents, key_id, request_id, client_address, created_at)
    select account_id, order_id, idempotency_key, request_hash, total_cents, key_id, request_id, client_address, created_at
      from bought
  ), new_lines as (
    insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
    select p_account_ids[v_places[l.n]], p_order_ids[v_places[l.n]], l.n - v_lines_before[v_places[l.n]], p_item_ids[l.n], names[l.n],
           p_qtys[l.n], unit_prices_cents[l.n]
      from generate_series(1, cardinality(p_item_ids)) as l (n)
     where verdicts[v_places[l.n]] = 'bought'
  ), debits as (
    update balances b
       set balance_cents = o.balance - o.total_cents,
           transfer_count = o.transfers + 1,
           order_count = b.order_count + 1
      from bought o
     where b.account_id = o.account_id
  ), new_transfers as (
    insert into transfers (account_id, seq, change_cents, balance_after_cents, created_at, kind, order_id)
    select account_id, transfers + 1, -total_cents, balance - total_cents, created_at, 'order', order_id
      from bought
  ), new_events as (
    insert into events (account_id, id, type, order_id, created_at)
    select account_id, event_id, 'order.accepted', order_id, created_at
      from bought
  ), new_deliveries as (
    insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at)
    select account_id, endpoint_id, event_id, created_at, created_at
      from bought
     where endpoint_id is not null
  ), woken as (
    insert into jobs as j (account_id, queue, subject, run_at, created_at)
    select account_id, 'deliver', endpoint_id, clock_timestamp(), created_at
      from bought
     where endpoint_id is not null
     order by account_id
        on conflict (queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true,
           is_backlog = false
  )
  insert into jobs (account_id, queue, subject, run_at, created_at)
  select account_id, 'fulfil', order_id, clock_timestamp(), created_at
    from bought;

  if 'bought' = any (verdicts) then
    perform count_unassigned(array_agg(p_item_ids[l.n]), array_agg(p_qtys[l.n]))
       from generate_series(1, cardinality(p_item_ids)) as l (n)
      where verdicts[v_places[l.n]] = 'bought';
  end if;
end
$$;

alter function place_orders owner to shopwire_functions;
