-- The timeline this server writes its WAL on. Null on a standby: it writes none. Not from pg_control_checkpoint(), which still
-- shows the old timeline until the first checkpoint after a promotion.
create or replace function present_timeline()
returns bigint
language plpgsql stable
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if pg_is_in_recovery() then
    return null;
  end if;
  return ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
end
$$;
