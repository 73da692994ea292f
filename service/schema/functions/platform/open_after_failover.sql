-- Opens the store on a synchronous standby that was promoted, as its next generation, if an operator has allowed it and the standby
-- lacks nothing as far as can be shown. Takes the furthest position that the journal has, and whether commits waited for a standby
-- when it was written. Returns what is in the way; null when the store is open. The caller has compared the deliveries of the
-- journal with the orders. A worker has no right to write the identity itself. The rule is explained in docs/decisions/0022.
create or replace function open_after_failover(
  p_generation bigint, p_position bigint, p_at timestamptz, p_synchronous boolean
) returns text
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_timeline constant bigint := present_timeline();
  v_system constant text := (select c.system_identifier::text from pg_control_system() c);
  v_identity record;
  v_position bigint;
begin
  if v_timeline is null then
    return 'this server is still a standby';
  end if;
  select i.failover, i.behind_since, i.system_identifier, i.timeline, i.generation into strict v_identity
    from database_identity i
     for update;
  select p.position into strict v_position from store_position p;
  -- Another worker was faster.
  if database_is_confirmed() then
    return null;
  end if;
  if v_identity.failover <> 'synchronous' then
    return 'no operator has allowed it: "shopwire-admin recover policy --failover synchronous" does, for a store whose commits wait for a standby';
  elsif v_identity.behind_since is not null then
    return 'it lacks what was sold';
  elsif v_identity.system_identifier <> v_system then
    return 'it is another server: a dump was restored, or pg_upgrade was run';
  elsif v_timeline <= v_identity.timeline then
    return format('its timeline %s does not follow the last one, %s', v_timeline, v_identity.timeline);
  elsif p_position is null then
    return 'the journal has no position of the store';
  elsif (v_identity.generation, v_position) < (p_generation, p_position) then
    return 'it is behind the journal';
  elsif p_synchronous is not true then
    return 'commits did not wait for a standby when the store last wrote its position, so the last orders may be missing';
  elsif exists (select from orders o where o.created_at > p_at + interval '10 seconds') then
    return format('orders were taken more than 10 seconds after the last position of the journal (%s), and whether commits '
                  'waited for a standby then is unknown', p_at);
  elsif pg_postmaster_start_time() >= p_at - interval '5 seconds' then
    return format('this server was started (%s) after the store last wrote its position (%s), as a restored backup would be',
                  pg_postmaster_start_time(), p_at);
  end if;
  update database_identity
     set timeline = v_timeline,
         confirmed_at = clock_timestamp(),
         confirmed_by = 'failover',
         generation = v_identity.generation + 1,
         journal_problem = null,
         compared_start = database_start(),
         copy = database_copy();
  perform write_audit_row(
    'worker:failover', 'recover.failover', 'database', null, null, null,
    jsonb_build_object(
      'before', v_system || '/' || v_identity.timeline,
      'after', v_system || '/' || v_timeline,
      'generation', v_identity.generation + 1)
  );
  return null;
end
$$;

alter function open_after_failover owner to shopwire_functions;
