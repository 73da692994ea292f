-- migrate: no-transaction
-- compatible-with: 11
-- needed: no
-- For an account's own audit log, newest first. Most rows of a busy store belong to an account.
create index concurrently audit_log_account on audit_log (account_id, id);
