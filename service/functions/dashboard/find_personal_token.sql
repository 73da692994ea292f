-- The token with this hash, unless it has expired or was revoked. Before it is found no account is known, so row-level security
-- would hide it from the dashboard; this shows one row to who has the token, and nothing to anybody else.
create or replace function find_personal_token(p_hash bytea)
returns table (account_id text, id text, person_id text)
language sql
stable
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  select t.account_id, t.id, t.person_id
    from public.personal_tokens t
   where t.token_hash = p_hash
     and t.revoked_at is null
     and t.expires_at > clock_timestamp()
$$;

revoke execute on function find_personal_token from public;
grant execute on function find_personal_token to shopwire_dashboard;
