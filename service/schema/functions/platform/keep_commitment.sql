-- Only the salt of a commitment can be removed, when the personal data behind it is erased.
create or replace function keep_commitment()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if new.audit_id <> old.audit_id or new.commitment <> old.commitment or new.salt is not null then
    raise exception 'of a row of seal_commitments only the salt can be removed' using errcode = 'check_violation';
  end if;
  return new;
end
$$;

create or replace trigger seal_commitments_keep
  before update on seal_commitments
  for each row
  execute function keep_commitment();
