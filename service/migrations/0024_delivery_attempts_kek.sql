-- migrate: no-transaction
-- compatible-with: 23
-- needed: no
-- For changing the encryption key: finds the answers that are still sealed under the old one.
create index concurrently delivery_attempts_kek on delivery_attempts (answer_kek_id) where answer_kek_id is not null;
