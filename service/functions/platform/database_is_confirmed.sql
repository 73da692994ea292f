-- Whether this database is the one an operator confirmed last (see database_identity). Called by the very statements that sell,
-- deliver and buy, so no process can act on an outdated answer.
create or replace function database_is_confirmed()
returns boolean
language plpgsql as $$
declare
  v_system text := current_setting('shopwire.system_identifier', true);
begin
  if coalesce(v_system, '') = '' then
    -- Reads a file. A session never moves to another server, so once per session is enough.
    select system_identifier::text into v_system from pg_control_system();
    perform set_config('shopwire.system_identifier', v_system, false);
  end if;
  return exists (
    select from database_identity i
     where i.system_identifier = v_system
       and i.timeline = present_timeline()
  );
end
$$;

revoke execute on function database_is_confirmed from public;
grant execute on function database_is_confirmed to shopwire_app, shopwire_dashboard;
