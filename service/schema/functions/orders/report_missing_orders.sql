-- For an API process that has answered 201 for these orders and now sees another start of the database server. Records those that
-- are missing, and closes the store until an operator has opened it when any was not known to be missing. Returns how many were not.
create or replace function report_missing_orders(p_account_ids text[], p_order_ids text[]) returns integer
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_new integer;
begin
  with added as (
    insert into lost_orders (account_id, order_id, found_at)
    select g.account_id, g.order_id, clock_timestamp()
      from unnest(p_account_ids, p_order_ids) as g (account_id, order_id)
     where not exists (select from orders o where o.account_id = g.account_id and o.id = g.order_id)
     order by g.account_id, g.order_id
        on conflict do nothing
    returning order_id
  )
  select count(*) into v_new from added;
  if v_new > 0 then
    update database_identity
       set behind_since = clock_timestamp(),
           behind_why = format('%s orders that an API process had answered with 201 are missing in it', v_new)
     where behind_since is null;
  end if;
  return v_new;
end
$$;

alter function report_missing_orders owner to shopwire_functions;
