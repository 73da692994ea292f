-- Whether a person can be acting at this moment, in this account or in none: a member with a live session or personal token, or
-- somebody who in this very transaction accepted an invitation or used a mailed link. Audit rows name no other people: only
-- write_audit_row calls it.
create or replace function person_is_here(p_person_id text, p_account_id text) returns boolean
language sql
stable
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select (p_account_id is null
          or exists (select from memberships m where m.account_id = p_account_id and m.person_id = p_person_id))
     and (exists (select from sessions s where s.person_id = p_person_id and s.expires_at > clock_timestamp())
          or exists (select
                       from personal_tokens t
                      where t.account_id = p_account_id
                        and t.person_id = p_person_id
                        and t.revoked_at is null
                        and t.expires_at > clock_timestamp())
          or exists (select
                       from invitations i
                       join people p on p.email = i.email
                      where i.account_id = p_account_id
                        and p.id = p_person_id
                        and i.accepted_at is not null
                        -- Changed in this transaction.
                        and i.xmin = pg_current_xact_id()::xid)
          or exists (select
                       from one_time_values o
                      where o.person_id = p_person_id
                        and o.used_at is not null
                        and o.xmin = pg_current_xact_id()::xid))
$$;
