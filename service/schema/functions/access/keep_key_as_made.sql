-- A key keeps its account and its scopes, and a revoked key stays revoked, for every role. To change them another key is made,
-- which appears in the list of keys and in the audit log.
create or replace function keep_key_as_made()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  raise exception 'key % cannot be given other scopes, another account or another end', old.id
    using errcode = 'insufficient_privilege',
          hint = 'Make a new key with "shopwire-admin keys create".';
end
$$;

create or replace trigger api_keys_stay_as_made
  before update on api_keys
  for each row
  when (new.scopes is distinct from old.scopes
        or new.account_id <> old.account_id
        or new.id <> old.id
        or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at))
  execute function keep_key_as_made();
