-- Stops what was already in progress when the database turned out to be another one: no order is delivered or cancelled, and no
-- supplier is called.
create or replace function refuse_if_unconfirmed()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if database_is_confirmed() then
    return new;
  end if;
  raise exception 'this database was restored or failed over, and no operator has opened the store on it'
    using errcode = 'operator_intervention',
          hint = 'See "shopwire-admin recover status".';
end
$$;

create or replace trigger orders_end_only_if_confirmed
  before update on orders
  for each row
  when (old.status = 'paid' and new.status <> 'paid')
  execute function refuse_if_unconfirmed();

-- Triggers run in the order of their names: supplier_requests_advance sets the stage that this one checks.
create or replace trigger supplier_requests_after_advance_only_if_confirmed
  before insert or update on supplier_requests
  for each row
  when (new.stage in ('requested', 'accepted', 'unknown'))
  execute function refuse_if_unconfirmed();
