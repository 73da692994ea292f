-- The lifecycle of a request to a supplier: what may follow what, and what never changes. The last protection, whatever program writes; the
-- service has the same list in src/supply/obligation.ts.
create or replace function advance_supplier_request()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if tg_op = 'INSERT' then
    if new.stage <> 'requested' then
      raise exception 'a request to a supplier begins as "requested", not as "%"', new.stage
        using errcode = 'check_violation';
    end if;
    new.ended_at := null;
    return new;
  end if;
  if new.stage <> old.stage and (old.stage, new.stage) not in (
    ('requested', 'accepted'), ('requested', 'unknown'), ('requested', 'fulfilled'), ('requested', 'collected'),
    ('requested', 'refused'), ('requested', 'unsent'), ('requested', 'written_off'),
    ('accepted', 'fulfilled'), ('accepted', 'collected'), ('accepted', 'refused'), ('accepted', 'written_off'),
    ('unknown', 'accepted'), ('unknown', 'fulfilled'), ('unknown', 'collected'), ('unknown', 'refused'),
    ('unknown', 'written_off'),
    ('unsent', 'requested'),
    ('written_off', 'collected'), ('written_off', 'refused')
  ) then
    raise exception 'a request to a supplier that is "%" cannot become "%"', old.stage, new.stage
      using errcode = 'check_violation';
  end if;
  -- A repeated request has to be the same request; what was booked stays as it was booked.
  if (old.stage <> 'unsent'
      and (new.sku, new.qty, new.unit_cost_cents) is distinct from (old.sku, old.qty, old.unit_cost_cents))
     or (old.stage in ('fulfilled', 'collected')
         and (new.links, new.said_cents, new.cost_cents) is distinct from (old.links, old.said_cents, old.cost_cents))
  then
    raise exception 'what a supplier was asked for and what was booked for it cannot be changed'
      using errcode = 'check_violation';
  end if;
  -- A request is open as long as it has no end.
  new.ended_at := case when new.stage in ('requested', 'accepted', 'unknown') then null else coalesce(new.ended_at, clock_timestamp()) end;
  if new.stage = 'written_off' and old.stage <> 'written_off' then
    new.written_off_at := new.ended_at;
  end if;
  return new;
end
$$;

create or replace trigger supplier_requests_advance
  before insert or update on supplier_requests
  for each row
  execute function advance_supplier_request();
