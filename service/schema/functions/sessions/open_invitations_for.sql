-- Open invitations to an address, in any account. A person who signs in through their company for the first time has no link to
-- follow.
create or replace function open_invitations_for(p_email text, p_now timestamptz)
returns table (account_id text, id text)
language sql stable
-- With its owner's rights: the rows belong to several accounts.
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select i.account_id, i.id
    from shopwire.invitations i
   where i.email = p_email
     and i.accepted_at is null
     and i.withdrawn_at is null
     and i.expires_at > p_now
   order by i.account_id, i.id
$$;

alter function open_invitations_for owner to shopwire_functions;
