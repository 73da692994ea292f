-- A delivered or cancelled order stays so, for every role: a delivered order that could be cancelled would be refunded, and a
-- cancelled one that could become paid would be delivered after its refund. The price paid for it never changes.
create or replace function keep_order_ended()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  raise exception 'order % is "%", which is final, and its total stays what was paid', old.id, old.status
    using errcode = 'check_violation';
end
$$;

create or replace trigger orders_stay_ended
  before update on orders
  for each row
  when (new.total_cents <> old.total_cents
        or new.account_id <> old.account_id
        or new.id <> old.id
        or (old.status <> 'paid'
            and (new.status, new.delivered_at, new.cancelled_at, new.cancel_reason)
                  is distinct from (old.status, old.delivered_at, old.cancelled_at, old.cancel_reason)))
  execute function keep_order_ended();
