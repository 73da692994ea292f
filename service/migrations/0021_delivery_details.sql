-- compatible-with: 20
-- What the dashboard shows of a delivery: what an attempt was signed as, how long its parts took, how a receiver refused it.

-- The error of the last attempt, so that a list can be filtered by it without reading attempts. Null when it was accepted.
alter table deliveries add column last_error text check (char_length(last_error) <= 50);

-- The name of the person or key, as it was when the URL was set.
alter table webhook_endpoints add column set_by_name text;

alter table delivery_attempts
  -- X-Webhook-Timestamp, and X-Webhook-Signature followed by X-Webhook-Signature-Previous where that was sent: 32 bytes each.
  add column signed_s bigint,
  add column signatures bytea check (octet_length(signatures) in (32, 64)),
  add column connect_ms integer,
  add column send_ms integer,
  add column wait_ms integer,
  -- The start of the answer with links removed; only when the event was not accepted, or was a test.
  add column answer_sealed bytea,
  add column answer_kek_id text;

grant update (answer_sealed, answer_kek_id) on delivery_attempts to shopwire_app;
grant select (signed_s, signatures, connect_ms, send_ms, wait_ms, answer_sealed) on delivery_attempts to shopwire_dashboard;

-- Ending an endpoint removes its job; the policy on jobs allows that for deliveries only.
grant delete on jobs to shopwire_dashboard;
-- To lock events while they are queued again, PostgreSQL asks for the right to update a column. Row-level security keeps the value
-- of this one as it is.
grant update (account_id) on events to shopwire_dashboard;
