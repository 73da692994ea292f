-- Closings planned ahead. Nobody has to be awake for one to begin or end: whether the store is open is asked, not set.
create table store_windows (
  id text collate "C" primary key,
  closes_at timestamptz not null,
  opens_at timestamptz not null,
  reason text not null check (char_length(reason) between 1 and 200),
  created_at timestamptz not null,
  -- Called off: it never closes anything again, and stays on record.
  cancelled_at timestamptz,
  check (closes_at < opens_at)
);

create index store_windows_ahead on store_windows (opens_at) where cancelled_at is null;

grant select, insert, update on store_windows to shopwire_app;

-- The one answer to "does the shop take orders?", for orders and for /status.
create function store_is_open()
returns boolean
-- Not plain SQL: that would be planned anew with every order.
language plpgsql stable as $$
begin
  return (
    select s.is_open
           and not exists (
             select from store_windows w
              where w.cancelled_at is null
                and w.closes_at <= clock_timestamp()
                and w.opens_at > clock_timestamp()
           )
      from store_state s
  );
end
$$;

revoke execute on function store_is_open from public;
grant execute on function store_is_open to shopwire_app;
