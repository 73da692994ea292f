-- Accounts: who buys, and the API keys they sign with.

create table accounts (
  id text collate "C" primary key,
  name text not null check (char_length(name) between 1 and 100),
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- Grows by one whenever the rights of the account or one of its keys change. A process that has a key cached compares this number
  -- on every request, so a revocation applies to the very next one.
  access_version bigint not null default 1,
  created_at timestamptz not null,
  -- Final: functions/access/stay_closed.sql. A closed account is suspended too. See docs/decisions/0020.
  closed_at timestamptz,
  -- Ids of its members at that time. Those who belong to no other account are erased with it.
  closed_people text[],
  erased_at timestamptz,
  -- Ids of those who were erased with it: audit rows about them may lack their personal data.
  erased_people text[],
  constraint accounts_closed_is_suspended check (closed_at is null or status = 'suspended'),
  constraint accounts_erased_is_closed check (erased_at is null or closed_at is not null)
);

create index accounts_erased on accounts (id) where erased_at is not null;

alter table accounts enable row level security;
create policy all_accounts on accounts
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on accounts to shopwire_dashboard using (id = nullif(current_setting('shopwire.account_id', true), ''));

create table api_keys (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  name text not null check (char_length(name) between 1 and 100),
  scopes text[] not null check (
    cardinality(scopes) > 0
    and scopes <@ array['account:read', 'catalogue:read', 'orders:read', 'orders:write', 'webhooks:read', 'webhooks:write']
  ),
  secret_sealed bytea not null,
  secret_kek_id text not null,
  created_at timestamptz not null,
  -- Null when an operator made it. The name is the one at that time, so that it is still shown when the person has left.
  created_by text,
  created_by_name text,
  rotated_from text,
  revoked_at timestamptz,
  primary key (account_id, id)
);

-- A request carries only the key id.
create unique index api_keys_id on api_keys (id);

alter table api_keys enable row level security;
create policy all_accounts on api_keys
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on api_keys to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
