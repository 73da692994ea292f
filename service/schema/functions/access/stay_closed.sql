-- A closed account stays closed: its status and closing time never change again.
create or replace function stay_closed()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if new.closed_at is distinct from old.closed_at or new.status <> 'suspended' then
    raise exception 'account % was closed on %, which is final', old.id, old.closed_at using errcode = 'check_violation';
  end if;
  return new;
end
$$;

create or replace trigger accounts_stay_closed
  before update on accounts
  for each row
  when (old.closed_at is not null)
  execute function stay_closed();
