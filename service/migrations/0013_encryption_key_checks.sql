-- A known text sealed under each key-encryption key this database was ever used with. A process whose key of that id does not
-- open it has another key under the same name, and must not seal anything with it.
create table encryption_key_checks (
  kek_id text collate "C" primary key,
  check_sealed bytea not null,
  created_at timestamptz not null default now()
);

-- Neither update nor delete: the first value is the one that counts.
grant select, insert on encryption_key_checks to shopwire_app;
