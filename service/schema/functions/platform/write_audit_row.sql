-- Writes an audit row, and refuses one whose actor does not fit the session's role: "worker:" is the worker, "person:" is the
-- dashboard with a person who can be acting now (functions/sessions/person_is_here.sql), and everybody else is an operator. The
-- login decides, not what was set in the session. Time and id come from the database, so that no row can be backdated.
create or replace function write_audit_row(
  p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text, p_details jsonb
) returns void
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_at constant timestamptz := clock_timestamp();
begin
  if not (case
            when p_actor like 'worker:%' then pg_has_role(session_user, 'shopwire_worker_rights', 'member')
            when p_actor like 'person:%' then pg_has_role(session_user, 'shopwire_dashboard', 'member')
            else pg_has_role(session_user, 'shopwire_operator_rights', 'member')
          end) then
    raise exception 'the role of % does not write audit rows of "%"', session_user, p_actor
      using errcode = 'insufficient_privilege';
  end if;
  if pg_has_role(session_user, 'shopwire_dashboard', 'member') and not person_is_here(substr(p_actor, 8), p_account_id) then
    raise exception '"%" is not signed in to account %', p_actor, p_account_id
      using errcode = 'insufficient_privilege',
            constraint = 'person_is_here';
  end if;
  insert into audit_log (id, at, actor, action, target, account_id, address, request_id, details)
  values (new_id('aud', v_at), v_at, p_actor, p_action, p_target, p_account_id, p_address, p_request_id, p_details);
end
$$;

alter function write_audit_row owner to shopwire_functions;
