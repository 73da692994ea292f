-- Platform: the job queue. After accounts, because every job belongs to one.

-- Work to be done after a commit, written in that commit. See docs/decisions/0010.
create table jobs (
  account_id text not null references accounts (id),
  queue text not null,
  -- What the job is about, such as an order's id. One job per queue and subject.
  subject text collate "C" not null,
  -- Infinity: parked until something wakes it.
  run_at timestamptz not null,
  -- The lease: a worker has the job until then, and extends it while it works. A worker that dies lets it run out, and the job is
  -- free again.
  leased_until timestamptz,
  -- How often the job was taken up. Also the fencing token: a worker whose lease was taken over has a lower number.
  attempts integer not null default 0,
  -- It was woken since it was taken up: whatever the worker decides, it is due again.
  is_woken boolean not null default false,
  -- The last attempt failed. Failing jobs get only a part of a worker's slots, or they could fill all of them.
  is_failing boolean not null default false,
  -- Why it is not done yet, for an operator to read.
  note text check (char_length(note) <= 500),
  created_at timestamptz not null,
  primary key (account_id, queue, subject)
)
-- Every job is updated and deleted within seconds. The dead rows have to be vacuumed quickly, or the next query for due jobs
-- reads them all.
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create index jobs_due on jobs (queue, is_failing, run_at);

grant select, insert, update, delete on jobs to shopwire_app;
