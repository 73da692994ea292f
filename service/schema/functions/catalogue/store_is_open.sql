-- Whether the store accepts orders: the only answer, for new orders and for /status. An unconfirmed database is a closed store.
create or replace function store_is_open()
returns boolean
-- Not language sql: that would be planned again for every order.
language plpgsql stable
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  return (
    select s.is_open
           and not exists (
             select from store_windows w
              where w.cancelled_at is null
                and w.closes_at <= clock_timestamp()
                and w.opens_at > clock_timestamp()
           )
           and database_is_confirmed()
      from store_state s
  );
end
$$;
