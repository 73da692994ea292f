-- Accounts: who buys, and the API keys they sign with.

create table accounts (
  id text primary key,
  name text not null check (char_length(name) between 1 and 100),
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- Grows by one whenever the account or one of its keys changes what it may do. A process that has a key cached compares this
  -- number on every request, so a revocation holds on the very next one.
  access_version bigint not null default 1,
  created_at timestamptz not null
);

create table api_keys (
  account_id text not null references accounts (id),
  id text not null,
  name text not null check (char_length(name) between 1 and 100),
  scopes text[] not null check (
    cardinality(scopes) > 0
    and scopes <@ array['account:read', 'catalogue:read', 'orders:read', 'orders:write', 'webhooks:read', 'webhooks:write']
  ),
  secret_sealed bytea not null,
  secret_kek_id text not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  primary key (account_id, id)
);

-- A request carries only the key id. Not unique: a unique index without the account in front cannot be kept once accounts are
-- spread over several databases, and 130 random bits do not repeat.
create index api_keys_id on api_keys (id);
-- Rewrapping finds the rows that are still encrypted under an old key.
create index api_keys_kek on api_keys (secret_kek_id);

grant select, insert, update on accounts, api_keys to shopwire_app;
