-- migrate: no-transaction
-- compatible-with: 30
-- needed: no
-- jobs_due_by_lane serves what this one served.
drop index concurrently jobs_due;
