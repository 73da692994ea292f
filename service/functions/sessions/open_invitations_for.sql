-- Open invitations to an address, in any account. A person who signs in at their company for the first time has no link to follow.
create or replace function open_invitations_for(p_email text, p_now timestamptz)
returns table (account_id text, id text)
language sql stable
-- With the owner's rights: the rows belong to several accounts.
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  select i.account_id, i.id
    from public.invitations i
   where i.email = p_email
     and i.accepted_at is null
     and i.withdrawn_at is null
     and i.expires_at > p_now
   order by i.account_id, i.id
$$;

revoke execute on function open_invitations_for from public;
grant execute on function open_invitations_for to shopwire_app, shopwire_dashboard, shopwire_operator_rights;
