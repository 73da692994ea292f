-- Ledger: balances, the transfers they are made of, and their sums by day. See docs/decisions/0007.

-- One row per account: the lock that every movement of its money takes, and the sum of its transfers. The rows of an order refer to
-- this row, which is locked anyway, and not to the account.
create table balances (
  account_id text collate "C" primary key references accounts (id),
  balance_cents bigint not null default 0 check (balance_cents >= 0),
  transfer_count bigint not null default 0 check (transfer_count >= 0),
  -- Counted under the same lock: every page of a list of orders shows it, and an account may have millions.
  order_count bigint not null default 0 check (order_count >= 0)
)
-- Small, and updated by every order. Free space in each page keeps the updates out of the index (heap-only).
with (fillfactor = 80);

alter table balances enable row level security;
create policy all_accounts on balances
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on balances to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Double entry by construction: every row changes the account's balance and, by its kind, one of the store's own accounts by the
-- same amount with the other sign: `funding` its cash, `order` and `refund` its sales, `adjustment` its adjustments. Those have no
-- balance row; they are sums over this table. A transfer is identified by its account and its position. Append only.
create table transfers (
  account_id text collate "C" not null references balances (account_id),
  -- Position in the account's statement, without gaps: assigned under the lock of its balance.
  seq bigint not null check (seq > 0),
  -- Above zero: the balance grew.
  change_cents bigint not null,
  balance_after_cents bigint not null check (balance_after_cents >= 0),
  created_at timestamptz not null,
  kind text collate "C" not null check (kind in ('funding', 'adjustment', 'order', 'refund')),
  order_id text collate "C",
  -- The reference of this movement outside the store (a bank reference, a support ticket). The same reference twice is the same
  -- movement.
  reference text collate "C" check (char_length(reference) between 1 and 200),
  note text check (char_length(note) <= 500),
  primary key (account_id, seq),
  constraint transfers_of_orders check ((kind in ('order', 'refund')) = (order_id is not null)),
  constraint transfers_direction check (
    case kind
      when 'funding' then change_cents > 0
      when 'adjustment' then change_cents <> 0
      when 'order' then change_cents <= 0
      when 'refund' then change_cents >= 0
    end
  )
)
-- Never updated. Autovacuum's default, a fifth of the table, would mean rare runs that take hours; runs after inserts freeze new
-- rows while they are still in memory, and let statements be read from indexes alone. The figures behind such settings are in
-- docs/decisions/0020.
with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- An order is paid once and refunded once.
create unique index transfers_order_once on transfers (order_id, kind) where order_id is not null;
create unique index transfers_reference_once on transfers (account_id, kind, reference) where reference is not null;
-- Top-ups, refunds and adjustments of an account, newest first, without reading past its orders. Placing an order does not write
-- it.
create index transfers_without_orders on transfers (account_id, kind, seq) where kind <> 'order';

alter table transfers enable row level security;
create policy all_accounts on transfers
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on transfers to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- The account that a payment's reference credited first. The unique index above starts with the account, so it does not keep one
-- payment from crediting two accounts. Here two commands with the same reference meet on the primary key, and the second waits.
create table funding_references (
  reference text collate "C" primary key check (char_length(reference) between 1 and 200),
  account_id text collate "C" not null references accounts (id)
);

-- One row per account and closed UTC day on which money moved, made from its transfers by the worker: charts, sums and statements
-- of an account with millions of orders read these instead of the transfers. A closed day does not change: no role may update or
-- delete.
create table account_days (
  account_id text collate "C" not null references accounts (id),
  day date not null,
  -- The transfers of the day, from the first to the last. A transfer belongs to the latest day that occurred up to it in the
  -- statement, so days are ranges without gaps, and their sums lead from one closing balance to the next.
  first_seq bigint not null check (first_seq > 0),
  last_seq bigint not null,
  orders bigint not null check (orders >= 0),
  order_cents bigint not null check (order_cents >= 0),
  refunds bigint not null check (refunds >= 0),
  refund_cents bigint not null check (refund_cents >= 0),
  topups bigint not null check (topups >= 0),
  topup_cents bigint not null check (topup_cents >= 0),
  adjustments bigint not null check (adjustments >= 0),
  -- Up or down.
  adjustment_cents bigint not null,
  closing_balance_cents bigint not null check (closing_balance_cents >= 0),
  primary key (account_id, day),
  constraint account_days_range check (last_seq >= first_seq)
);

alter table account_days enable row level security;
create policy all_accounts on account_days
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on account_days to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- How far the workers have closed a day. One row.
create table account_days_progress (
  only_row boolean primary key default true check (only_row),
  -- The day that is being closed, or was closed last.
  day date not null,
  -- Accounts up to this one are done; null when all are.
  done_up_to text collate "C"
);

insert into account_days_progress (day) values ('2000-01-01');
