-- Sessions: people who sign in to the dashboard, how they prove who they are, and what they may do in which account. Nothing here
-- can be used as it is stored: passwords are hashed by argon2id, the tokens of cookies and mails by SHA-256, the secrets of
-- authenticator apps and the recovery codes are encrypted.

create table people (
  id text collate "C" primary key,
  -- Operators run the store. They belong to no account and sign in by passkey alone.
  kind text not null default 'customer' check (kind in ('customer', 'operator')),
  name text not null check (char_length(name) between 1 and 100),
  email text collate "C" not null unique check (email = lower(email) and char_length(email) between 3 and 254),
  email_verified boolean not null default false,
  -- An authenticator app is confirmed.
  has_totp boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- One row per way to prove an identity that is not a passkey: the password, or the subject at a company's OpenID Connect issuer.
create table credentials (
  id text collate "C" primary key,
  person_id text collate "C" not null references people (id) on delete cascade,
  provider text collate "C" not null,
  subject text collate "C" not null,
  password_hash text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (provider, subject)
);
create index credentials_person on credentials (person_id);

create table authenticator_apps (
  id text collate "C" primary key,
  person_id text collate "C" not null unique references people (id) on delete cascade,
  secret_sealed bytea not null,
  secret_kek_id text not null,
  -- Set when the app's first code has confirmed it.
  recovery_codes_sealed bytea,
  recovery_codes_kek_id text,
  is_confirmed boolean not null default false,
  -- The 30-second step since 1970 of the last used code: a code counts once, and none that is older counts after it.
  last_used_step bigint not null default 0,
  constraint authenticator_apps_codes_once_confirmed
    check (is_confirmed = (recovery_codes_sealed is not null) and is_confirmed = (recovery_codes_kek_id is not null))
);

create table passkeys (
  id text collate "C" primary key,
  person_id text collate "C" not null references people (id) on delete cascade,
  name text,
  credential_id text collate "C" not null unique,
  -- In COSE's form, as the authenticator gave it.
  public_key bytea not null,
  -- The signature counter, if the authenticator has one; each answer must have a higher value.
  counter bigint not null,
  device_type text not null,
  is_synced boolean not null,
  -- How a browser reaches the authenticator, such as "usb": a hint for the next ceremony.
  transports text[] not null default '{}',
  created_at timestamptz not null,
  last_used_at timestamptz
);
create index passkeys_person on passkeys (person_id);

-- Actions that wait for their second step: the challenge of a passkey, a second factor after a password, a sign-in at a company, a
-- mailed link. Each is found by the hash of a token that only a cookie or a mail contains, and used once.
create table one_time_values (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  kind text not null check (kind in ('second-factor', 'passkey-sign-in', 'passkey-step-up', 'new-passkey', 'company-sign-in',
                                     'reset-password', 'verify-email')),
  person_id text collate "C" references people (id) on delete cascade,
  -- What the second step is compared with: a challenge, the address to confirm, what a company must answer.
  value text,
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint one_time_values_person_is_known check ((person_id is null) = (kind in ('passkey-sign-in', 'company-sign-in')))
);
create index one_time_values_person on one_time_values (person_id);
create index one_time_values_expires on one_time_values (expires_at);

create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  -- Identifies the session in lists, logs and the audit log; useless as a cookie.
  id text collate "C" not null unique,
  person_id text collate "C" not null references people (id) on delete cascade,
  -- The account it acts in. Whether the person may act there is checked in memberships on every request.
  account_id text collate "C",
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  -- When a second factor was used in this session.
  stepped_up_at timestamptz,
  address text not null,
  user_agent text not null
);
create index sessions_person on sessions (person_id);
create index sessions_expires on sessions (expires_at);

-- Failed attempts to sign in, per client address and per person. Names are hashed.
create table sign_in_attempts (
  name_hash bytea primary key,
  window_started_at timestamptz not null,
  hits integer not null
);
create index sign_in_attempts_started on sign_in_attempts (window_started_at);

create table memberships (
  account_id text collate "C" not null references accounts (id),
  person_id text collate "C" not null references people (id) on delete cascade,
  role text not null check (role in ('owner', 'developer', 'finance', 'viewer')),
  created_at timestamptz not null,
  primary key (account_id, person_id)
);
create index memberships_person on memberships (person_id);

alter table memberships enable row level security;
create policy all_accounts on memberships
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on memberships to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

create table invitations (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  email text collate "C" not null check (email = lower(email) and char_length(email) between 3 and 254),
  role text not null check (role in ('owner', 'developer', 'finance', 'viewer')),
  token_hash bytea not null,
  -- Null: an operator invited.
  inviter_id text collate "C" references people (id) on delete set null,
  -- Only the owner of the mailbox saw the link, so accepting it verifies the address.
  is_mailed_only boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  withdrawn_at timestamptz,
  primary key (account_id, id)
);
-- An address has one open invitation to an account.
create unique index invitations_open on invitations (account_id, email) where accepted_at is null and withdrawn_at is null;
create index invitations_email on invitations (email) where accepted_at is null and withdrawn_at is null;

alter table invitations enable row level security;
create policy all_accounts on invitations
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on invitations to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- An operator's first sign-in, at which they set up a passkey.
create table operator_invitations (
  id text collate "C" primary key,
  email text not null check (email = lower(email) and char_length(email) between 3 and 254),
  name text not null check (char_length(name) between 1 and 100),
  token_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz
);
