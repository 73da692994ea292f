-- Funding: top-ups by bank transfer and by card, what payment providers reported about them, money that was taken back, and low-balance
-- alerts. The dashboard asks for a top-up and records a provider's event; the worker or an operator credits. See docs/decisions/0014.

-- One wish of an account to add money. It is credited once: the state and the transfer change together.
create table top_ups (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  provider text not null check (provider in ('bank', 'stripe')),
  -- What was asked for.
  amount_cents bigint not null check (amount_cents > 0),
  -- review: what was paid is not what was asked for, and an operator decides.
  state text not null default 'pending'
    check (state in ('pending', 'credited', 'review', 'failed', 'expired', 'rejected')),
  -- ISO 11649, for the payer to quote and for people to find it again.
  reference text collate "C" not null check (reference ~ '^RF[0-9]{2}[0-9A-Z]{1,21}$'),
  -- The provider's name for the page where it is paid, and for the payment itself once there is one.
  provider_session text,
  provider_payment text collate "C",
  created_by text not null,
  created_by_name text not null,
  created_at timestamptz not null,
  decided_at timestamptz,
  -- What arrived. For a bank transfer it may differ from what was asked for.
  credited_cents bigint check (credited_cents > 0),
  -- The transfer that credited it.
  credited_seq bigint,
  -- Why it was rejected, or needs a person.
  note text check (char_length(note) <= 500),
  -- When the provider is asked about it next, by the clock of the database, because events can be lost. Null: not again by itself.
  look_at timestamptz default now() + interval '5 minutes',
  -- How many answers of the provider were applied. One counts only if none was applied since its question was asked.
  answers integer not null default 0,
  -- When the payment was last found at the provider by the reconciliation.
  compared_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, credited_seq) references transfers (account_id, seq),
  constraint top_ups_credited check ((state = 'credited') = (credited_seq is not null)),
  constraint top_ups_credited_cents check ((credited_cents is null) = (credited_seq is null)),
  constraint top_ups_session check ((provider = 'stripe') = (provider_session is not null))
);

create unique index top_ups_reference on top_ups (reference);
create unique index top_ups_transfer_once on top_ups (account_id, credited_seq) where credited_seq is not null;
create index top_ups_payment on top_ups (provider_payment) where provider_payment is not null;
create index top_ups_open on top_ups (created_at) where state in ('pending', 'review');
create index top_ups_look on top_ups (look_at) where look_at is not null and provider <> 'bank';
create index top_ups_by_card on top_ups (decided_at) where state = 'credited' and provider_payment is not null;

alter table top_ups enable row level security;
create policy all_accounts on top_ups
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on top_ups to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Money that a provider took back after it was credited: one refund or one dispute, by its id there. What the balance does not hold is owed.
create table top_up_reversals (
  account_id text collate "C" not null,
  id text collate "C" not null,
  top_up_id text collate "C" not null,
  kind text not null check (kind in ('refund', 'dispute')),
  -- The provider's id of it and its own word for where it stands. It is settled when no change of that is expected any more.
  provider_reference text collate "C" not null,
  provider_status text not null,
  is_settled boolean not null,
  -- What the provider took. Beyond what was credited nothing is booked: the difference is for a person to decide.
  provider_cents bigint not null check (provider_cents > 0),
  amount_cents bigint not null check (amount_cents >= 0),
  -- amount = taken from the balance + owed + written off by an operator, until the refund fails or the dispute is won: then it is returned.
  taken_cents bigint not null check (taken_cents >= 0),
  owed_cents bigint not null check (owed_cents >= 0),
  written_off_cents bigint not null default 0 check (written_off_cents >= 0),
  returned_at timestamptz,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, top_up_id) references top_ups (account_id, id),
  constraint top_up_reversals_at_most check (amount_cents <= provider_cents),
  constraint top_up_reversals_sum check (taken_cents + owed_cents + written_off_cents = amount_cents),
  constraint top_up_reversals_returned check (returned_at is null or owed_cents = 0)
);

create unique index top_up_reversals_once on top_up_reversals (provider_reference);
create index top_up_reversals_top_up on top_up_reversals (account_id, top_up_id);
create index top_up_reversals_owed on top_up_reversals (account_id) where owed_cents > 0;
create index top_up_reversals_unsettled on top_up_reversals (id) where not is_settled;

alter table top_up_reversals enable row level security;
create policy all_accounts on top_up_reversals
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on top_up_reversals to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Events of payment providers whose signature was verified, reduced to what is needed: which payment to ask about. Not of one account, because
-- a dispute does not say whose payment it is about.
create table payment_events (
  provider text collate "C" not null check (provider in ('stripe')),
  event_id text collate "C" not null check (char_length(event_id) between 1 and 255),
  -- The payment, or the page of it: all that is known of one is decided together, by one answer of the provider.
  subject text collate "C" not null check (char_length(subject) between 1 and 255),
  facts jsonb not null,
  received_at timestamptz not null,
  state text not null default 'received' check (state in ('received', 'applied', 'ignored')),
  next_at timestamptz not null default now(),
  decided_at timestamptz,
  note text check (char_length(note) <= 500),
  primary key (provider, event_id)
);

create index payment_events_due on payment_events (next_at) where state = 'received';
create index payment_events_subject on payment_events (subject);

-- What only a person can decide: the provider and the ledger say different things, and no rule makes them agree. The same difference found
-- again is the same row, also after somebody has decided it.
create table payment_reviews (
  id text collate "C" primary key,
  provider text collate "C" not null check (provider in ('stripe')),
  -- The payment, or the page of it.
  subject text collate "C" not null check (char_length(subject) between 1 and 255),
  note text collate "C" not null check (char_length(note) between 1 and 500),
  account_id text collate "C" references accounts (id),
  top_up_id text collate "C",
  found_at timestamptz not null default now(),
  -- Since when there is no such difference any more. It may come back.
  gone_at timestamptz,
  -- By a person, with the reason in the audit log: it is not asked about again.
  decided_at timestamptz
);

create unique index payment_reviews_once on payment_reviews (provider, subject, note);
create index payment_reviews_open on payment_reviews (found_at) where decided_at is null and gone_at is null;

-- The comparison of everything the provider has with everything the ledger has, once a day. The run under way is kept page by page.
create table payment_reconciliations (
  provider text collate "C" primary key check (provider in ('stripe')),
  -- What the provider made before this instant was compared by a run that ended.
  compared_until timestamptz not null,
  due_at timestamptz not null default now(),
  finished_at timestamptz,
  -- The run under way, null between runs: what it reads, until which instant, and after which id it goes on.
  stage text check (stage in ('payments', 'refunds', 'disputes', 'ledger')),
  started_at timestamptz,
  read_until timestamptz,
  after_id text,
  -- Of this run, or of the last one.
  compared bigint not null default 0,
  asked bigint not null default 0,
  -- One worker at a time; another one goes on when it stops.
  leased_until timestamptz,
  constraint payment_reconciliations_run check (num_nulls(stage, started_at, read_until) in (0, 3))
);

-- At which balance whom to write. The worker moves the state; see service/src/funding/balance-alert.ts.
create table balance_alerts (
  account_id text collate "C" primary key references accounts (id),
  threshold_cents bigint check (threshold_cents > 0),
  person_ids text[] not null check (cardinality(person_ids) <= 20),
  updated_at timestamptz not null,
  state text not null default 'ok' check (state in ('ok', 'approaching', 'below')),
  -- The threshold that the state was worked out with.
  state_threshold_cents bigint,
  state_since timestamptz,
  -- How many mails there were in the day that began then: a balance that is moved to and fro must not fill mailboxes.
  mails_since timestamptz,
  mails_count integer not null default 0,
  constraint balance_alerts_mails check ((mails_since is null) = (mails_count = 0))
);

alter table balance_alerts enable row level security;
create policy all_accounts on balance_alerts
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on balance_alerts to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Addresses of nobody in the team that an account wants these mails sent to. Until its owner has opened the mailed link, an address gets
-- nothing else. See service/src/funding/alert-addresses.ts.
create table alert_addresses (
  account_id text collate "C" not null references accounts (id),
  email text collate "C" not null check (email = lower(email) and char_length(email) between 3 and 254),
  -- Of the latest link, and when it was mailed. The link is used up by confirming.
  token_hash bytea check (octet_length(token_hash) = 32),
  asked_at timestamptz not null,
  confirmed_at timestamptz,
  primary key (account_id, email),
  constraint alert_addresses_confirmed check ((confirmed_at is null) = (token_hash is not null))
);

alter table alert_addresses enable row level security;
create policy all_accounts on alert_addresses
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on alert_addresses to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
