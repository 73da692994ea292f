-- A revoked token stays revoked, and keeps its time of revocation, even for roles that may revoke one.
create or replace function stay_revoked()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  raise exception '% was revoked on %, which is final', old.id, old.revoked_at
    using errcode = 'insufficient_privilege',
          hint = 'Make a new one.';
end
$$;

create or replace trigger personal_tokens_stay_revoked
  before update on personal_tokens
  for each row
  when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function stay_revoked();

create or replace trigger operator_tokens_stay_revoked
  before update on operator_tokens
  for each row
  when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function stay_revoked();
