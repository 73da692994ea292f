-- compatible-with: 14
-- One row per account and closed UTC day on which money moved, made from its transfers by the worker: charts, sums and statements
-- of an account with millions of orders read these instead of the transfers.

create table account_days (
  account_id text not null references accounts (id),
  day date not null,
  -- The transfers of the day, from the first to the last. A transfer belongs to the latest day seen up to it in the statement,
  -- so days are ranges without gaps, and their sums lead from one closing balance to the next.
  first_seq bigint not null check (first_seq > 0),
  last_seq bigint not null check (last_seq >= first_seq),
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
  primary key (account_id, day)
);

alter table account_days enable row level security;
create policy all_accounts on account_days to shopwire_app using (true) with check (true);
create policy own_account on account_days to shopwire_dashboard
  using (account_id = nullif(current_setting('shopwire.account_id', true), ''))
  with check (account_id = nullif(current_setting('shopwire.account_id', true), ''));
-- Neither update nor delete: a closed day does not change.
grant select, insert on account_days to shopwire_app;
grant select on account_days to shopwire_dashboard;

-- How far the workers have come with closing a day. One row.
create table account_days_progress (
  only_row boolean primary key default true check (only_row),
  -- The day that is being closed, or was closed last.
  day date not null,
  -- Accounts up to this one are done; null when all are.
  done_up_to text
);

insert into account_days_progress (day) values ('2000-01-01');

grant select, update on account_days_progress to shopwire_app;
