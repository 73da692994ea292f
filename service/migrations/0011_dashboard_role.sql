-- compatible-with: 10
-- The role that the dashboard works as, and row-level security for it. A transaction of the dashboard names its account in
-- `shopwire.account_id` and then sees and changes rows of that account only; without a name it sees none. It cannot move money,
-- place orders or read an API key's secret, whatever its code does. The application's own role sees all rows, as before.

do $$
begin
  create role shopwire_dashboard nologin;
exception
  -- Roles belong to the whole server: another database may have made it, or is making it at this moment.
  when duplicate_object or unique_violation then null;
end
$$;

grant usage on schema public to shopwire_dashboard;

-- Who did it from where, for actions of people in the dashboard. Rows without an account are for operators only.
alter table audit_log
  add column account_id text,
  add column address text,
  add column request_id text collate "C";

do $$
declare
  v_table text;
  v_account constant text := $q$nullif(current_setting('shopwire.account_id', true), '')$q$;
begin
  -- In the order in which an order touches them.
  foreach v_table in array array[
    'accounts', 'api_keys', 'access_changes', 'balances', 'orders', 'order_lines', 'order_links', 'order_attempts', 'link_reads',
    'transfers', 'events', 'webhook_endpoints', 'webhook_secrets', 'deliveries', 'delivery_attempts', 'notices', 'jobs', 'audit_log'
  ] loop
    execute format('alter table %I enable row level security', v_table);
    execute format('create policy all_accounts on %I to shopwire_app using (true) with check (true)', v_table);
    execute format('create policy own_account on %I to shopwire_dashboard using (%s = %s) with check (%2$s = %3$s)',
                   v_table, case v_table when 'accounts' then 'id' else 'account_id' end, v_account);
  end loop;
end
$$;

-- The dashboard wakes the delivery of events. It never gives the worker anything else to do.
create policy deliveries_only on jobs as restrictive to shopwire_dashboard using (queue = 'deliver') with check (queue = 'deliver');

-- What every program of the store reads when it starts.
grant select on schema_migrations, schema_functions, database_identity, worker_heartbeats, event_retention, evidence_retention,
                encryption_key_checks
   to shopwire_dashboard;

-- The dashboard has a key of its own and no business with the others.
alter table own_keys enable row level security;
create policy all_keys on own_keys to shopwire_app using (true) with check (true);
create policy keys_of_dashboard on own_keys to shopwire_dashboard
  using (name like 'dashboard%') with check (name like 'dashboard%');
grant select, insert on own_keys to shopwire_dashboard;

-- What the store sells is the same for everybody.
grant select on items, catalogue_state, store_state, store_windows to shopwire_dashboard;

grant select on accounts, access_changes to shopwire_dashboard;
grant update (name, access_version) on accounts to shopwire_dashboard;
grant insert, update on access_changes to shopwire_dashboard;
-- No secret_sealed: a key's secret is shown once, when it is made, and never read back here.
grant select (account_id, id, name, scopes, created_at, revoked_at), insert, update (name, revoked_at) on api_keys
   to shopwire_dashboard;

-- No insert and no update: money moves elsewhere.
grant select on balances, transfers, orders, order_lines, order_links, order_attempts, link_reads, notices to shopwire_dashboard;

grant select, insert on events to shopwire_dashboard;
grant select, insert, update on webhook_endpoints, webhook_secrets, deliveries to shopwire_dashboard;
-- No remote_address: what an owner's host name resolves to for us is not theirs to see.
grant select (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error) on delivery_attempts
   to shopwire_dashboard;
grant select, insert, update on jobs to shopwire_dashboard;

grant select, insert on audit_log to shopwire_dashboard;
