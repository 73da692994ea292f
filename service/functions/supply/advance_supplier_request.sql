-- The lifecycle of a request to a supplier: what may follow what, and what never changes. The last protection, whatever program writes; the
-- service has the same list in src/supply/obligation.ts. Also keeps `state` in agreement with `stage`: programs of the release before write
-- the first, this release writes the second.
create or replace function advance_supplier_request()
returns trigger
language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.stage <> 'requested' then
      raise exception 'a request to a supplier begins as "requested", not as "%"', new.stage
        using errcode = 'check_violation';
    end if;
    new.state := 'asked';
    return new;
  end if;
  if new.stage = old.stage and new.state <> old.state then
    new.stage := case
      when new.state = 'given' then 'fulfilled'
      when new.state = 'unsent' then 'unsent'
      when new.state = 'asked' then 'requested'
      when new.error = 'given_up' then 'written_off'
      else 'refused'
    end;
  end if;
  new.state := case
    when new.stage in ('fulfilled', 'collected') then 'given'
    when new.stage in ('refused', 'written_off') then 'refused'
    when new.stage = 'unsent' then 'unsent'
    else 'asked'
  end;
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
  if new.state = 'asked' then
    new.ended_at := null;
  elsif new.stage <> old.stage then
    -- A program of the release before gives neither time nor cost.
    new.ended_at := case when new.ended_at is distinct from old.ended_at then new.ended_at else clock_timestamp() end;
    if new.stage = 'written_off' then
      new.written_off_at := new.ended_at;
    elsif new.state = 'given' then
      new.cost_cents := coalesce(new.cost_cents, new.unit_cost_cents * new.qty);
    end if;
  end if;
  return new;
end
$$;

-- Nobody may call it: it runs as a trigger only.
revoke execute on function advance_supplier_request from public;

-- Its name comes before "suppliers_asked_only_if_confirmed" in the alphabet, so it runs first, and that one sees the right state.
create or replace trigger supplier_requests_advance
  before insert or update on supplier_requests
  for each row
  execute function advance_supplier_request();
