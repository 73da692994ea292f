-- Which database server this store last ran on, by an operator's word. A copy restored elsewhere has another system identifier;
-- one recovered to a point in time, or a promoted standby, another timeline. Such a copy may have lost what callers were already
-- given, so it delivers, sends and buys nothing until somebody has confirmed it. One row.
create table database_identity (
  only_row boolean primary key default true check (only_row),
  system_identifier text not null,
  timeline bigint not null,
  confirmed_at timestamptz not null,
  confirmed_by text not null
);

-- Null while the server is a standby: it writes no WAL, so it is on no timeline of its own. Not from pg_control_checkpoint(),
-- which keeps the old timeline until the first checkpoint after a promotion.
create function present_timeline()
returns bigint
language plpgsql stable as $$
begin
  if pg_is_in_recovery() then
    return null;
  end if;
  return ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
end
$$;

insert into database_identity (system_identifier, timeline, confirmed_at, confirmed_by)
select system_identifier::text, present_timeline(), now(), 'migration'
  from pg_control_system();

-- Asked by the very statements that sell, deliver and buy, so nothing that a process remembers can be out of date.
create function database_is_confirmed()
returns boolean
language plpgsql as $$
declare
  v_system text := current_setting('shopwire.system_identifier', true);
begin
  if coalesce(v_system, '') = '' then
    -- Reads a file. A session never moves to another server, so once per session is enough.
    select system_identifier::text into v_system from pg_control_system();
    perform set_config('shopwire.system_identifier', v_system, false);
  end if;
  return exists (
    select from database_identity i
     where i.system_identifier = v_system
       and i.timeline = present_timeline()
  );
end
$$;

revoke execute on function present_timeline, database_is_confirmed from public;
grant execute on function present_timeline, database_is_confirmed to shopwire_app;
grant select, update on database_identity to shopwire_app;

-- An unconfirmed database is a closed store, for new orders and for /status.
create or replace function store_is_open()
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
           and database_is_confirmed()
      from store_state s
  );
end
$$;

-- Nobody takes up a job: the row is left as it is, and whoever asked gets one job fewer.
create function skip_if_unconfirmed()
returns trigger
language plpgsql as $$
begin
  if database_is_confirmed() then
    return new;
  end if;
  return null;
end
$$;

create trigger jobs_taken_only_if_confirmed
  before update on jobs
  for each row
  when (new.attempts > old.attempts)
  execute function skip_if_unconfirmed();

-- What is under way when the database changes under it: no order comes to its end, and no supplier is asked.
create function refuse_if_unconfirmed()
returns trigger
language plpgsql as $$
begin
  if database_is_confirmed() then
    return new;
  end if;
  raise exception 'this database is not the one the store last ran on'
    using errcode = 'operator_intervention',
          hint = 'Compare with "shopwire-admin database status", then confirm it.';
end
$$;

create trigger orders_end_only_if_confirmed
  before update on orders
  for each row
  when (old.status = 'paid' and new.status <> 'paid')
  execute function refuse_if_unconfirmed();

create trigger suppliers_asked_only_if_confirmed
  before insert or update on supplier_requests
  for each row
  when (new.state = 'asked')
  execute function refuse_if_unconfirmed();

revoke execute on function skip_if_unconfirmed, refuse_if_unconfirmed from public;
