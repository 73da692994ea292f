-- Whether the store may sell, deliver and buy on this database: it is the one an operator confirmed last (see database_identity),
-- it was not found behind the store's recorded position, and, if the store keeps a journal, a worker has compared the two since the
-- server started; without a journal, it is the very copy that was confirmed. Called by the statements that sell, deliver and buy,
-- so that no process acts on an outdated answer.
create or replace function database_is_confirmed()
returns boolean
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
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
       and i.behind_since is null
       and case when i.journal_id is null then i.copy = database_copy() else i.compared_start = database_start() end
  );
end
$$;
