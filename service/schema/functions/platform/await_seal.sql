-- Registers a new audit row for sealing, in its transaction: however late that is committed, the row is sealed after it. With the
-- owner's rights, because roles that write audit rows may not write here.
create or replace function await_seal()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  insert into seal_waiting (audit_id) values (new.id);
  return null;
end
$$;

alter function await_seal owner to shopwire_functions;

create or replace trigger audit_log_await_seal
  after insert on audit_log
  for each row
  execute function await_seal();
