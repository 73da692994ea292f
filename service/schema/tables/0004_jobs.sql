-- Platform: the job queue. After the ledger, because every job belongs to an account, through its balance.

-- Work to be done after a commit, written in that commit. See docs/decisions/0009.
create table jobs (
  -- Null: of no account, as mail is.
  account_id text collate "C" references balances (account_id),
  queue text collate "C" not null,
  -- What the job is about, such as an order's id. One job per queue and subject.
  subject text collate "C" not null,
  -- Infinity: parked until something wakes it.
  run_at timestamptz not null,
  -- The lease: a worker has the job until then, and extends it while it works. When a worker dies the lease expires, and the job is
  -- free again.
  leased_until timestamptz,
  -- How often the job was claimed. Also the fencing token: a worker whose lease was taken over has a lower number.
  attempts integer not null default 0,
  -- It was woken since it was claimed: whatever the worker decides, it is due again.
  is_woken boolean not null default false,
  -- The last attempt failed. Failing jobs get only a part of a worker's slots; otherwise they could fill all of them.
  is_failing boolean not null default false,
  -- One of many that became due together: woken by a restocked item, or a change of the catalogue announced to every endpoint. They
  -- get only a part of a worker's slots, so that nothing else waits for them.
  is_backlog boolean not null default false,
  -- How often in a row it failed because of a defect.
  failures integer not null default 0,
  -- A dead letter since: it failed too often and is not tried again until an operator, or something new to do, wakes it.
  dead_at timestamptz,
  -- Why it is not done yet, for operators.
  note text check (char_length(note) <= 500),
  created_at timestamptz not null,
  primary key (queue, subject)
)
-- Every job is updated and deleted within seconds. The dead rows have to be vacuumed quickly, or the next query for due jobs reads
-- them all. Pages are not truncated: the next orders need them again, and truncating takes a lock that claims wait for.
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);

-- Due jobs of one lane, oldest first.
create index jobs_due_by_lane on jobs (queue, is_failing, is_backlog, run_at);

alter table jobs enable row level security;
create policy all_accounts on jobs
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on jobs to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
create policy mail on jobs for insert to shopwire_dashboard with check (queue = 'mail' and account_id is null);
-- The dashboard wakes the delivery of events and queues mail. It cannot give the worker any other work.
-- The API queues tests of an endpoint. Both may read the jobs of orders, which show the waiting orders.
create policy adds_deliveries_only on jobs as restrictive for insert to shopwire_api_rights
  with check (queue = 'deliver');
create policy adds_deliveries_and_mail_only on jobs as restrictive for insert to shopwire_dashboard
  with check (queue in ('deliver', 'mail'));
create policy changes_deliveries_only on jobs as restrictive for update to shopwire_api_rights, shopwire_dashboard
  using (queue = 'deliver');
create policy removes_deliveries_only on jobs as restrictive for delete to shopwire_api_rights, shopwire_dashboard
  using (queue = 'deliver');
