-- migrate: no-transaction
-- compatible-with: 30
-- needed: no
-- Due jobs of one lane, oldest first.
create index concurrently jobs_due_by_lane on jobs (queue, is_failing, is_backlog, run_at);
