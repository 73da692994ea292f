-- Whether a commit of this session is confirmed only after a standby has written it to its disk.
create or replace function commits_wait_for_standby()
returns boolean
language sql
stable
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') in ('on', 'remote_apply')
$$;
