-- Writes an audit row, and refuses one that names another kind of actor than the session's role: people act through the dashboard and in
-- their own account, "worker:" is the worker, and everybody else is an operator. The login decides, not what was set in the session.
create or replace function write_audit_row(
  p_id text, p_at timestamptz, p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text,
  p_details jsonb
) returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
  if not ((pg_has_role(session_user, 'shopwire_worker_rights', 'member') and p_actor like 'worker:%')
          or (pg_has_role(session_user, 'shopwire_operator_rights', 'member')
              and p_actor not like 'worker:%' and p_actor not like 'person:%')
          or (pg_has_role(session_user, 'shopwire_dashboard', 'member') and p_actor like 'person:%'
              and (p_account_id is null or p_account_id = current_setting('shopwire.account_id', true)))) then
    raise exception 'the role of % does not write audit rows of "%"', session_user, p_actor
      using errcode = 'insufficient_privilege';
  end if;
  insert into audit_log (id, at, actor, action, target, account_id, address, request_id, details)
  values (p_id, p_at, p_actor, p_action, p_target, p_account_id, p_address, p_request_id, p_details);
end
$$;

alter function write_audit_row owner to shopwire_functions;
