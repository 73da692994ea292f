-- Funding: top-ups by bank transfer and by card, what payment providers reported about them, money that was taken back, and low-balance
-- alerts. The dashboard asks for a top-up and records a provider's event; the worker or an operator credits. See docs/decisions/0014.

-- One request of an account to add money. It is credited once: the state and the transfer change together.
create table top_ups (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  provider text not null check (provider in ('bank', 'stripe')),
  -- The requested amount.
  amount_cents bigint not null check (amount_cents > 0),
  -- review: the paid amount differs from the requested one, and an operator decides.
  state text not null default 'pending'
    check (state in ('pending', 'credited', 'review', 'failed', 'expired', 'rejected')),
  -- ISO 11649, for the payer to quote and for people to find the payment by.
  reference text collate "C" not null check (reference ~ '^RF[0-9]{2}[0-9A-Z]{1,21}$'),
  -- The provider's name for the page where it is paid, and for the payment itself once there is one.
  provider_session text,
  provider_payment text collate "C",
  created_by text not null,
  created_by_name text not null,
  created_at timestamptz not null,
  decided_at timestamptz,
  -- The amount that arrived. For a bank transfer it may differ from the requested one.
  credited_cents bigint check (credited_cents > 0),
  -- The transfer that credited it.
  credited_seq bigint,
  -- Why it was rejected, or needs an operator's decision.
  note text check (char_length(note) <= 500),
  -- When it is next checked with the provider, by the clock of the database, because events can be lost. Null: not again
  -- automatically.
  look_at timestamptz default now() + interval '5 minutes',
  -- How many answers of the provider were applied. An answer counts only if no other was applied since its query was sent.
  answers integer not null default 0,
  -- When the reconciliation last found the payment at the provider.
  compared_at timestamptz,
  -- What the dashboard's page named its request, so that a repeat starts no second one.
  attempt text collate "C",
  primary key (account_id, id),
  foreign key (account_id, credited_seq) references transfers (account_id, seq),
  constraint top_ups_credited check ((state = 'credited') = (credited_seq is not null)),
  constraint top_ups_credited_cents check ((credited_cents is null) = (credited_seq is null)),
  constraint top_ups_session check ((provider = 'stripe') = (provider_session is not null))
);

create unique index top_ups_reference on top_ups (reference);
create unique index top_ups_attempt on top_ups (account_id, attempt) where attempt is not null;
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

-- Money that a provider took back after it was credited: one refund or one dispute, by its id there. What the balance does not
-- cover is owed.
create table top_up_reversals (
  account_id text collate "C" not null,
  id text collate "C" not null,
  top_up_id text collate "C" not null,
  kind text not null check (kind in ('refund', 'dispute')),
  -- The provider's id for it and its own word for the status. It is settled when no change of that is expected any more.
  provider_reference text collate "C" not null,
  provider_status text not null,
  is_settled boolean not null,
  -- What the provider took. No more than the credit is booked: an operator decides about the difference.
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

-- Verified events of payment providers, reduced to what is needed: which payment to query. Not of one account, because a dispute
-- does not say whose payment it is about.
create table payment_events (
  provider text collate "C" not null check (provider in ('stripe')),
  event_id text collate "C" not null check (char_length(event_id) between 1 and 255),
  -- The payment, or its page: all events of a payment are decided together, by one answer of the provider.
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

-- Differences that only an operator can decide: the provider and the ledger disagree, and no rule resolves it. The same difference
-- found again is the same row, even after it was decided.
create table payment_reviews (
  id text collate "C" primary key,
  provider text collate "C" not null check (provider in ('stripe')),
  -- The payment, or the page of it.
  subject text collate "C" not null check (char_length(subject) between 1 and 255),
  note text collate "C" not null check (char_length(note) between 1 and 500),
  account_id text collate "C" references accounts (id),
  top_up_id text collate "C",
  found_at timestamptz not null default now(),
  -- Since when the difference no longer exists. It may come back.
  gone_at timestamptz,
  -- Decided by an operator, with the reason in the audit log: it is not raised again.
  decided_at timestamptz
);

create unique index payment_reviews_once on payment_reviews (provider, subject, note);
create index payment_reviews_open on payment_reviews (found_at) where decided_at is null and gone_at is null;

-- The daily comparison of everything the provider has with everything the ledger has. A run in progress is stored page by page.
create table payment_reconciliations (
  provider text collate "C" primary key check (provider in ('stripe')),
  -- Everything the provider made before this instant was compared by a completed run.
  compared_until timestamptz not null,
  due_at timestamptz not null default now(),
  finished_at timestamptz,
  -- The run in progress, null between runs: what it reads, until which instant, and after which id it continues.
  stage text check (stage in ('payments', 'refunds', 'disputes', 'ledger')),
  started_at timestamptz,
  read_until timestamptz,
  after_id text,
  -- Of the present run, or of the last one.
  compared bigint not null default 0,
  asked bigint not null default 0,
  -- One worker at a time; another one continues when it stops.
  leased_until timestamptz,
  constraint payment_reconciliations_run check (num_nulls(stage, started_at, read_until) in (0, 3))
);

-- The balance at which to write. The worker changes the state; see service/src/funding/balance-alert.ts.
create table balance_alerts (
  account_id text collate "C" primary key references accounts (id),
  threshold_cents bigint check (threshold_cents > 0),
  updated_at timestamptz not null,
  state text not null default 'ok' check (state in ('ok', 'approaching', 'below')),
  -- The threshold for which the state was computed.
  state_threshold_cents bigint,
  state_since timestamptz,
  -- How many mails were sent in the day that began then: a balance that moves up and down must not fill mailboxes.
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

-- Addresses outside the team that should get these mails. Until its owner has opened the mailed link, an address gets nothing else.
-- See service/src/funding/alert-addresses.ts.
create table alert_addresses (
  account_id text collate "C" not null references accounts (id),
  email text collate "C" not null check (email = lower(email) and char_length(email) between 3 and 254),
  -- For the latest link, and when it was mailed. Confirming uses the link up.
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
