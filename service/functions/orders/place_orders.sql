-- place_order for several accounts in one transaction and one round trip: each cart is bought whole or not at all, by the same rules
-- (service/test/orders/batches.test.ts compares the two). At most one cart per account; a second one makes the whole call fail on the
-- key of `transfers`, and nothing is written. Verdicts are those of place_order, and one more:
--   busy    somebody else holds the balance, the endpoint or the endpoint's job: nothing is written, and place_order will wait for it
-- Arrays of orders are aligned; p_places says for each line, counted from 1, which order it is of, in the order of the orders.
create or replace function place_orders(
  p_account_ids text[], p_access_versions bigint[], p_key_ids text[], p_order_ids text[], p_transfer_ids text[], p_event_ids text[],
  p_created_ats timestamptz[], p_idempotency_keys text[], p_request_hashes bytea[], p_request_ids text[],
  p_client_addresses text[], p_places integer[], p_ns integer[], p_ids text[], p_qtys integer[], p_expected bigint[],
  out verdicts text[], out order_ids text[], out totals_cents bigint[], out names text[], out unit_prices_cents bigint[],
  out details text[]
)
language plpgsql
-- Sells with the rights of its owner: its callers cannot write an order, a balance or a transfer themselves.
security definer
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  c_total_max constant bigint := 500000;
  v_is_open boolean;
  v_balances bigint[];
  v_transfers bigint[];
  v_sold_out text[];
  v_repriced text[];
  v_endpoint_ids text[];
begin
  -- Without waiting: whoever waited here would make all the others wait.
  select array_agg(b.balance_cents order by o.place), array_agg(b.transfer_count order by o.place)
    into v_balances, v_transfers
    from unnest(p_account_ids) with ordinality as o (account_id, place)
    left join lateral (
      select balances.balance_cents, balances.transfer_count
        from balances
       where balances.account_id = o.account_id
         for update skip locked
    ) b on true;

  -- Separate statements from here on: they see what was committed before the locks were taken.
  v_is_open := store_is_open();
  with priced as materialized (
    select p_places[l.n] as place, l.n, l.id, l.qty, l.expected_price_cents, l.name, l.unit_price_cents, l.status
      from price_cart(p_ids, p_qtys, p_expected) l
  )
  select array_agg(c.total_cents order by c.place), array_agg(c.sold_out order by c.place), array_agg(c.repriced order by c.place),
         (select array_agg(p.name order by p.n) from priced p),
         (select array_agg(p.unit_price_cents order by p.n) from priced p)
    into totals_cents, v_sold_out, v_repriced, names, unit_prices_cents
    from (
      select p.place,
             sum(p.qty * p.unit_price_cents) filter (where p.status <> 'sold_out') as total_cents,
             string_agg(p.id, ', ' order by p.n) filter (where p.status = 'sold_out') as sold_out,
             string_agg(p.id || ' costs ' || p.unit_price_cents || ' cents now, ' || p.expected_price_cents || ' were expected',
                        '; ' order by p.n) filter (where p.status = 'price_changed') as repriced
        from priced p
       group by p.place
    ) c;

  select array_agg(case when v.verdict = 'bought' and is_busy then 'busy' else v.verdict end order by v.place),
         array_agg(v.order_id order by v.place),
         array_agg(case v.verdict when 'item_unavailable' then v.sold_out when 'price_changed' then v.repriced end order by v.place),
         array_agg(endpoint.id order by v.place)
    into verdicts, order_ids, details, v_endpoint_ids
    from (
      select o.place, o.account_id, o.sold_out, o.repriced, coalesce(earlier.id, o.order_id) as order_id,
             case
               when o.balance is null then 'busy'
               when account.id is null then 'changed'
               when earlier.request_hash = o.request_hash then 'earlier'
               when earlier.id is not null then 'conflict'
               when not v_is_open then 'store_closed'
               when o.sold_out is not null then 'item_unavailable'
               when o.repriced is not null then 'price_changed'
               when o.total_cents > c_total_max then 'order_total_exceeded'
               when o.total_cents > o.balance then 'insufficient_funds'
               else 'bought'
             end as verdict
        from unnest(p_account_ids, p_access_versions, p_order_ids, p_idempotency_keys, p_request_hashes, v_balances,
                    totals_cents, v_sold_out, v_repriced)
               with ordinality as o (account_id, access_version, order_id, idempotency_key, request_hash, balance,
                                     total_cents, sold_out, repriced, place)
        left join lateral (
          select accounts.id
            from accounts
           where accounts.id = o.account_id
             and accounts.access_version = o.access_version
           limit 1
        ) account on true
        left join lateral (
          select orders.id, orders.request_hash
            from orders
           where orders.account_id = o.account_id
             and orders.idempotency_key = o.idempotency_key
           limit 1
        ) earlier on true
    ) v
    left join lateral (
      select webhook_endpoints.id
        from webhook_endpoints
       where v.verdict = 'bought'
         and webhook_endpoints.account_id = v.account_id
         and webhook_endpoints.ended_at is null
       limit 1
    ) endpoint on true
    -- As record_event does: held until the commit, so that a change of URL cancels this delivery too.
    left join lateral (
      select true as is_held
        from webhook_endpoints
       where webhook_endpoints.account_id = v.account_id
         and webhook_endpoints.id = endpoint.id
         and webhook_endpoints.ended_at is null
         for key share skip locked
    ) held_endpoint on true
    left join lateral (
      select true as is_there
        from jobs
       where jobs.account_id = v.account_id
         and jobs.queue = 'deliver'
         and jobs.subject = endpoint.id
       limit 1
    ) job on true
    left join lateral (
      select true as is_held
        from jobs
       where jobs.account_id = v.account_id
         and jobs.queue = 'deliver'
         and jobs.subject = endpoint.id
         for update skip locked
    ) held_job on true
    cross join lateral (
      select endpoint.id is not null and held_endpoint.is_held is null
             or job.is_there is not null and held_job.is_held is null as is_busy
    ) b;

  with bought as materialized (
    select o.account_id, o.key_id, o.order_id, o.transfer_id, o.event_id, o.created_at, o.idempotency_key, o.request_hash,
           o.request_id, o.client_address, o.total_cents, o.balance, o.transfers, o.endpoint_id
      from unnest(p_account_ids, p_key_ids, p_order_ids, p_transfer_ids, p_event_ids, p_created_ats, p_idempotency_keys,
                  p_request_hashes, p_request_ids, p_client_addresses, verdicts, totals_cents, v_balances, v_transfers,
                  v_endpoint_ids)
             as o (account_id, key_id, order_id, transfer_id, event_id, created_at, idempotency_key, request_hash, request_id,
                   client_address, verdict, total_cents, balance, transfers, endpoint_id)
     where o.verdict = 'bought'
  ), new_orders as (
    insert into orders (account_id, id, idempotency_key, request_hash, total_cents, key_id, request_id, client_address, created_at)
    select account_id, order_id, idempotency_key, request_hash, total_cents, key_id, request_id, client_address, created_at
      from bought
  ), new_lines as (
    insert into order_lines (account_id, order_id, n, item_id, name, qty, unit_price_cents)
    select p_account_ids[l.place], p_order_ids[l.place], l.n, l.item_id, l.name, l.qty, l.unit_price_cents
      from unnest(p_places, p_ns, p_ids, names, p_qtys, unit_prices_cents) as l (place, n, item_id, name, qty, unit_price_cents)
     where verdicts[l.place] = 'bought'
  ), debits as (
    update balances b
       set balance_cents = o.balance - o.total_cents,
           transfer_count = o.transfers + 1,
           order_count = b.order_count + 1
      from bought o
     where b.account_id = o.account_id
  ), new_transfers as (
    insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, order_id, created_at)
    select account_id, transfers + 1, transfer_id, 'order', 'customer', 'house:sales', total_cents, balance - total_cents, order_id,
           created_at
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
        on conflict (account_id, queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true,
           is_backlog = false
  )
  insert into jobs (account_id, queue, subject, run_at, created_at)
  select account_id, 'fulfil', order_id, clock_timestamp(), created_at
    from bought;
end
$$;

revoke execute on function place_orders from public;
grant execute on function place_orders to shopwire_app, shopwire_api_rights;
alter function place_orders owner to shopwire_functions;
