-- The accounts that a person belongs to, with the role in each. The dashboard needs them before it knows the account, when
-- row-level security would show it none.
create or replace function accounts_of_person(p_person_id text)
returns table (id text, name text, role text)
language sql stable
-- With its owner's rights: the rows belong to several accounts.
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select a.id, a.name, m.role
    from shopwire.memberships m
    join shopwire.accounts a on a.id = m.account_id
   where m.person_id = p_person_id
   order by a.id
$$;

alter function accounts_of_person owner to shopwire_functions;
