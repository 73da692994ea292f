-- Where API processes keep nonces, windows and access versions. A revocation has to reach the memory they ask, so the command that
-- revokes compares this with its own settings.
create table admission_in_use (
  kind text primary key check (kind in ('postgres', 'redis', 'redis-cluster')),
  seen_at timestamptz not null
);

grant select, insert, update on admission_in_use to shopwire_app;
