-- compatible-with: 40
-- One role for each process, so that whoever gets hold of one cannot do what the others do: the API, the worker, the operator's command,
-- and reading only; the dashboard has had its own. Logins of yours are made members of one of them (docs/database-roles.md). What each may do
-- is in service/rights/. shopwire_app, which may do what all of them together may, stays as it is: programs and logins of the release
-- before go on working, and are moved one by one.

do $$
declare
  v_role text;
begin
  foreach v_role in array array[
    'shopwire_api_rights', 'shopwire_worker_rights', 'shopwire_operator_rights', 'shopwire_readonly_rights', 'shopwire_functions'
  ] loop
    begin
      execute format('create role %I nologin', v_role);
    exception
      -- Roles belong to the whole server: another database may have made it, or is making it at this moment.
      when duplicate_object or unique_violation then null;
    end;
    execute format('grant connect on database %I to %I', current_database(), v_role);
    execute format('grant usage on schema public to %I', v_role);
  end loop;
  -- Owns the functions that sell, so that no caller needs the right to write what they write. Nobody signs in as it. The owner of the database
  -- has to be a member to replace those functions.
  if not pg_has_role(current_user, 'shopwire_functions', 'usage') then
    execute format('grant shopwire_functions to %I', current_user);
  end if;
end
$$;

-- PostgreSQL asks for this of whoever owns a function in the schema.
grant create on schema public to shopwire_functions;

-- These roles see every account, as shopwire_app does; what they may do with it is said by their grants.
do $$
declare
  v_table text;
begin
  -- In the order in which an order touches them.
  foreach v_table in array array[
    'accounts', 'api_keys', 'access_changes', 'balances', 'orders', 'order_lines', 'order_links', 'order_attempts', 'link_reads',
    'transfers', 'events', 'webhook_endpoints', 'webhook_secrets', 'deliveries', 'delivery_attempts', 'notices', 'jobs', 'audit_log',
    'account_days', 'balance_alerts', 'invitations', 'key_last_uses', 'key_usage', 'links_kept_longer', 'memberships', 'outgoing_mail',
    'own_keys', 'personal_tokens', 'top_up_reversals', 'top_ups', 'waiting_lines'
  ] loop
    execute format('alter policy %I on %I to shopwire_app, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, '
                   'shopwire_readonly_rights, shopwire_functions',
                   case v_table when 'own_keys' then 'all_keys' else 'all_accounts' end, v_table);
  end loop;
end
$$;

-- The API queues tests of an endpoint, and wakes their delivery. Whatever else happens to an order is not for it to report.
create policy tests_only on events as restrictive for insert to shopwire_api_rights with check (type = 'test');
create policy adds_deliveries_only on jobs as restrictive for insert to shopwire_api_rights with check (queue = 'deliver');
create policy changes_deliveries_only on jobs as restrictive for update to shopwire_api_rights
  using (queue = 'deliver') with check (queue = 'deliver');
create policy removes_deliveries_only on jobs as restrictive for delete to shopwire_api_rights using (queue = 'deliver');
-- A change that another process may not have seen yet stays.
create policy removes_old_only on access_changes as restrictive for delete to shopwire_api_rights
  using (changed_at < clock_timestamp() - interval '30 minutes');

-- Nobody writes an audit row in the name of another kind of actor.
create policy as_people_only on audit_log as restrictive for insert to shopwire_dashboard with check (actor like 'person:%');
create policy as_worker_only on audit_log as restrictive for insert to shopwire_worker_rights with check (actor like 'worker:%');
create policy not_as_others on audit_log as restrictive for insert to shopwire_operator_rights
  with check (actor not like 'person:%' and actor not like 'worker:%');

grant select, delete on access_changes to shopwire_api_rights;
grant select (id, name, status, access_version), update (id) on accounts to shopwire_api_rights;
grant select, insert, update on admission_in_use, admission_memory, admission_windows, key_last_uses, key_usage to shopwire_api_rights;
grant select (account_id, id, scopes, secret_sealed, secret_kek_id, revoked_at) on api_keys to shopwire_api_rights;
grant select on balances, catalogue_state, database_identity, items, order_backlog, order_lines, schema_functions,
      schema_migrations, store_position, store_state, store_windows, worker_heartbeats to shopwire_api_rights;
grant select, insert (account_id, endpoint_id, event_id, created_at, next_at), update (state,
      done_at) on deliveries to shopwire_api_rights;
grant select (answer_kek_id) on delivery_attempts to shopwire_api_rights;
grant select, insert on encryption_key_checks to shopwire_api_rights;
grant select (account_id, id, type, body_kek_id), insert (account_id, id, type, order_id, revision,
      created_at) on events to shopwire_api_rights;
grant select, insert (account_id, queue, subject, run_at, created_at), update (run_at, is_woken, is_backlog),
      delete on jobs to shopwire_api_rights;
grant insert on link_reads, order_attempts to shopwire_api_rights;
grant select (account_id, order_id, line, unit, link_sealed, link_kek_id, erased_at) on order_links to shopwire_api_rights;
grant select (account_id, id, status, total_cents, created_at, delivered_at, cancelled_at,
      cancel_reason) on orders to shopwire_api_rights;
grant select (body_kek_id) on outgoing_mail to shopwire_api_rights;
grant select (key_kek_id) on own_keys to shopwire_api_rights;
grant select (link_kek_id) on pool_links to shopwire_api_rights;
grant select, insert, delete on spent_nonces, witnessed_nonces to shopwire_api_rights;
grant select (secret_kek_id) on suppliers to shopwire_api_rights;
grant select, insert (account_id, id, url, set_by, set_by_name, created_at),
      update (ended_at) on webhook_endpoints to shopwire_api_rights;
grant select (account_id, ends_at, secret_kek_id), insert (account_id, id, secret_sealed, secret_kek_id, created_at),
      update (ends_at) on webhook_secrets to shopwire_api_rights;
grant select, insert, update, delete on witnessed_refusals to shopwire_api_rights;

grant select, insert, update on access_changes, item_supply, order_backlog, supplier_requests,
      top_up_reversals to shopwire_worker_rights;
grant select, insert on account_days, audit_log, encryption_key_checks, funding_references, link_fingerprints, notices, own_keys,
      supplier_transfers, transfers to shopwire_worker_rights;
grant select, update on account_days_progress, balance_alerts, catalogue_announcement, catalogue_state, event_retention,
      link_retention, payment_events, store_position, top_ups to shopwire_worker_rights;
grant select, update (status, access_version) on accounts to shopwire_worker_rights;
grant select (account_id, id, secret_kek_id) on api_keys to shopwire_worker_rights;
grant select, update (balance_cents, transfer_count) on balances to shopwire_worker_rights;
grant select, update (behind_since, behind_why, journal_id, compared_start) on database_identity to shopwire_worker_rights;
grant select, insert, update, delete on deliveries, jobs, outgoing_mail, restocked_items, supplier_spending, waiting_lines,
      worker_heartbeats to shopwire_worker_rights;
grant select, insert, delete on delivery_attempts, links_kept_longer to shopwire_worker_rights;
grant select, insert, update (body_sealed, body_kek_id), delete on events to shopwire_worker_rights;
grant select on evidence_retention, lost_links, memberships, order_lines, people, schema_functions, schema_migrations, store_state,
      store_windows, verify_runs, webhook_secrets to shopwire_worker_rights;
grant select, update (has_supply, revision) on items to shopwire_worker_rights;
grant select, update (hour), delete on key_usage to shopwire_worker_rights;
grant select, insert, update (link_sealed, link_kek_id, erased_at), delete on order_links to shopwire_worker_rights;
grant select, update (status, delivered_at, cancelled_at, cancel_reason) on orders to shopwire_worker_rights;
grant select, insert, update (link_sealed, link_kek_id, set_aside_at), delete on pool_links to shopwire_worker_rights;
grant select, update (window_started_at, window_count, held_at) on refund_rule to shopwire_worker_rights;
grant select (expires_at), delete on sessions, used_codes, verifications to shopwire_worker_rights;
grant select (window_started_at), delete on sign_in_attempts to shopwire_worker_rights;
grant select, update (name) on suppliers to shopwire_worker_rights;
grant select, update (last_delivered_at, last_failure_at, last_error, alerted_percent) on webhook_endpoints to shopwire_worker_rights;

grant select, insert, update, delete on access_changes, authenticator_apps, credentials, deliveries, jobs, memberships,
      outgoing_mail, passkeys, restocked_items, sessions, supplier_spending, verifications, waiting_lines to shopwire_operator_rights;
grant select on account_days, account_days_progress, admission_in_use, catalogue_announcement, event_retention, evidence_retention,
      key_last_uses, key_usage, link_reads, link_retention, links_kept_longer, order_attempts, order_backlog, order_lines,
      schema_functions, schema_migrations, worker_heartbeats to shopwire_operator_rights;
grant select, insert, update on accounts, api_keys, balance_alerts, balances, invitations, item_supply, items, operator_invitations,
      own_keys, payment_events, people, store_windows, supplier_requests, suppliers, top_up_reversals, top_ups, webhook_endpoints,
      webhook_secrets to shopwire_operator_rights;
grant select, insert on audit_log, encryption_key_checks, funding_references, journal_comparisons, link_fingerprints, lost_links,
      notices, supplier_transfers, transfers, verify_runs to shopwire_operator_rights;
grant select, update on catalogue_state, database_identity, refund_rule, store_position, store_state to shopwire_operator_rights;
grant select, insert, update (answer_sealed, answer_kek_id), delete on delivery_attempts to shopwire_operator_rights;
grant select, insert, update (body_sealed, body_kek_id), delete on events to shopwire_operator_rights;
grant select, insert, update (link_sealed, link_kek_id, erased_at), delete on order_links to shopwire_operator_rights;
grant select, update (status, delivered_at, cancelled_at, cancel_reason) on orders to shopwire_operator_rights;
grant select, update (revoked_at) on personal_tokens to shopwire_operator_rights;
grant select, insert, update (link_sealed, link_kek_id, set_aside_at), delete on pool_links to shopwire_operator_rights;

grant select on access_changes, account_days, account_days_progress, accounts, admission_in_use, admission_memory,
      admission_windows, audit_log, balance_alerts, balances, catalogue_announcement, catalogue_state, database_identity,
      deliveries, event_retention, evidence_retention, funding_references, item_supply, items, jobs, journal_comparisons,
      key_last_uses, key_usage, link_reads, link_retention, links_kept_longer, memberships, notices, order_attempts, order_backlog,
      order_lines, orders, payment_events, people, refund_rule, restocked_items, schema_functions, schema_migrations,
      store_position, store_state, store_windows, supplier_requests, supplier_spending, supplier_transfers, top_up_reversals,
      top_ups, transfers, verify_runs, waiting_lines, webhook_endpoints, witnessed_refusals,
      worker_heartbeats to shopwire_readonly_rights;
grant select (account_id, id, name, scopes, secret_kek_id, created_at, revoked_at, created_by, created_by_name,
      rotated_from) on api_keys to shopwire_readonly_rights;
grant select (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, remote_address, signed_s,
      signatures, connect_ms, send_ms, wait_ms, answer_kek_id) on delivery_attempts to shopwire_readonly_rights;
grant select (kek_id, created_at) on encryption_key_checks to shopwire_readonly_rights;
grant select (account_id, id, type, order_id, revision, created_at, body_kek_id) on events to shopwire_readonly_rights;
grant select (account_id, id, email, role, inviter_id, is_mailed_only, created_at, expires_at, accepted_at,
      withdrawn_at) on invitations to shopwire_readonly_rights;
grant select (seen_at, made_by) on link_fingerprints to shopwire_readonly_rights;
grant select (account_id, order_id, sold_at, found_at) on lost_links to shopwire_readonly_rights;
grant select (id, email, name, created_at, expires_at, accepted_at) on operator_invitations to shopwire_readonly_rights;
grant select (account_id, order_id, line, unit, link_kek_id, source, obtained_at,
      erased_at) on order_links to shopwire_readonly_rights;
grant select (id, account_id, to_address, subject, body_kek_id, created_at, attempts, next_at, sent_at,
      failed_at) on outgoing_mail to shopwire_readonly_rights;
grant select (account_id, id, person_id, name, rights, with_links, created_at, expires_at, last_used_at,
      revoked_at) on personal_tokens to shopwire_readonly_rights;
grant select (item_id, id, link_kek_id, loaded_at, set_aside_at) on pool_links to shopwire_readonly_rights;
grant select (name, url, secret_kek_id, timeout_ms, is_paused, created_at,
      hourly_limit_cents) on suppliers to shopwire_readonly_rights;
grant select (account_id, id, secret_kek_id, created_at, ends_at) on webhook_secrets to shopwire_readonly_rights;

grant select (id, access_version) on accounts to shopwire_functions;
grant select, update (balance_cents, transfer_count, order_count) on balances to shopwire_functions;
grant select on database_identity, items, store_state, store_windows to shopwire_functions;
grant insert (account_id, endpoint_id, event_id, created_at, next_at) on deliveries to shopwire_functions;
grant insert (account_id, id, type, order_id, revision, created_at) on events to shopwire_functions;
grant select, insert (account_id, queue, subject, run_at, created_at), update (run_at, is_woken,
      is_backlog) on jobs to shopwire_functions;
grant insert on order_lines, transfers to shopwire_functions;
grant select, insert on orders to shopwire_functions;
grant select (account_id, id, ended_at), update (id) on webhook_endpoints to shopwire_functions;
