-- The tokens with these hashes that are usable now: not expired, not revoked, and of a member who may have one. Until a token is
-- found the account is unknown, so row-level security would hide it from the dashboard; this shows a row only to a caller that has
-- its token.
create or replace function find_personal_tokens(p_hashes bytea[])
returns table (token_hash bytea, account_id text, id text)
language sql
stable
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select t.token_hash, t.account_id, t.id
    from shopwire.personal_tokens t
    join shopwire.memberships m on m.account_id = t.account_id and m.person_id = t.person_id
   where t.token_hash = any (p_hashes)
     and t.revoked_at is null
     and t.expires_at > clock_timestamp()
     and m.role in ('owner', 'developer')
$$;

alter function find_personal_tokens owner to shopwire_functions;
