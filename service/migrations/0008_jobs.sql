-- Work to be done after a commit, written in that commit.
create table jobs (
  account_id text not null references accounts (id),
  queue text not null,
  -- What the job is about, such as an order's id. One job per queue and subject.
  subject text collate "C" not null,
  -- Infinity: parked until somebody wakes it.
  run_at timestamptz not null,
  -- A worker has it until then, and keeps moving this while it lives. When the worker dies the job is simply free again.
  leased_until timestamptz,
  -- How often it was taken up; also the fence that shuts out a worker whose lease was lost.
  attempts integer not null default 0,
  -- Somebody woke it since it was taken up: whatever the worker decides, it is to be looked at again.
  is_woken boolean not null default false,
  -- It did not go well last time. Such jobs get only a part of a worker's hands, or they could fill all of them.
  is_failing boolean not null default false,
  -- Why it is not done yet, in words for an operator.
  note text check (char_length(note) <= 500),
  created_at timestamptz not null,
  primary key (account_id, queue, subject)
)
-- Every job is updated and deleted within seconds: what it leaves behind has to go quickly or the next take reads it.
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create index jobs_due on jobs (queue, is_failing, run_at);

grant select, insert, update, delete on jobs to shopwire_app;
