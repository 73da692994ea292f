-- Sealed rows are never changed or removed, by any role.
create or replace function refuse_changes()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  raise exception 'rows of % are never changed or removed: later evidence is built on them', tg_table_name using errcode = 'check_violation';
end
$$;

create or replace trigger seal_segments_stay
  before update or delete or truncate on seal_segments
  for each statement
  execute function refuse_changes();

create or replace trigger seal_digests_stay
  before update or delete or truncate on seal_digests
  for each statement
  execute function refuse_changes();

create or replace trigger seal_commitments_stay
  before delete or truncate on seal_commitments
  for each statement
  execute function refuse_changes();
