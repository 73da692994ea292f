-- Dashboard: what belongs to one member of an account. Views and choices of mail end with the membership.

-- Personal access tokens, which a person's command line sends instead of signing in, with two narrow rights. They cannot spend.
create table personal_tokens (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  person_id text collate "C" not null references people (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 100),
  -- SHA-256 of the token. It has 256 random bits, so a slow hash would add nothing.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  rights text[] not null check (cardinality(rights) > 0 and rights <@ array['events:listen', 'orders:prove']),
  -- Whether events contain gift links.
  with_links boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (account_id, id),
  constraint personal_tokens_expires check (expires_at > created_at and expires_at <= created_at + interval '2160 hours')
);

-- A request contains only the token.
create unique index personal_tokens_hash on personal_tokens (token_hash);

-- The dashboard cannot read token_hash: functions/dashboard/find_personal_tokens.sql compares it.
alter table personal_tokens enable row level security;
create policy all_accounts on personal_tokens
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on personal_tokens to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Filters of a list, saved by one person for themselves. The dashboard checks them and counts the views of a list, one action of an
-- account at a time: service/src/dashboard/views/views.ts.
create table saved_views (
  account_id text collate "C" not null,
  id text collate "C" not null,
  person_id text collate "C" not null,
  list text collate "C" not null check (list in ('orders', 'deliveries', 'statement', 'audit')),
  name text not null check (char_length(name) between 1 and 40),
  -- As names are compared: without differences of case.
  folded_name text collate "C" not null,
  -- Of an address, without its "?".
  query text not null check (char_length(query) between 1 and 1000),
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, person_id) references memberships (account_id, person_id) on delete cascade
);

create unique index saved_views_name on saved_views (account_id, person_id, list, folded_name);

alter table saved_views enable row level security;
create policy all_accounts on saved_views
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on saved_views to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Which mail a member wants or does not, where that differs from what members of their role get: service/src/sessions/mail-choices.ts.
create table mail_choices (
  account_id text collate "C" not null,
  person_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('balance_alert', 'top_up', 'reversal', 'webhook_trouble')),
  is_wanted boolean not null,
  primary key (account_id, person_id, kind),
  foreign key (account_id, person_id) references memberships (account_id, person_id) on delete cascade
);

alter table mail_choices enable row level security;
create policy all_accounts on mail_choices
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on mail_choices to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
