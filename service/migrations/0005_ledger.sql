-- Ledger: balances and the transfers they are made of. See docs/decisions/0008.

-- One row per account: the lock that every movement of its money takes, and the sum of its transfers.
create table balances (
  account_id text primary key references accounts (id),
  balance_cents bigint not null default 0 check (balance_cents >= 0),
  transfer_count bigint not null default 0 check (transfer_count >= 0),
  -- Counted under the same lock: every page of a list of orders shows it, and an account may have millions.
  order_count bigint not null default 0 check (order_count >= 0)
);

-- Double entry by construction: every row names the side that pays, the side that receives, and one amount. `customer` is the
-- account's own balance; house accounts have no balance row, they are sums over this table.
create table transfers (
  account_id text not null references accounts (id),
  -- Position in the account's statement, without gaps: assigned under the lock of its balance.
  seq bigint not null check (seq > 0),
  id text not null,
  kind text not null check (kind in ('funding', 'adjustment', 'order', 'refund')),
  debit text not null check (debit in ('customer', 'house:cash', 'house:sales', 'house:adjustments')),
  credit text not null check (credit in ('customer', 'house:cash', 'house:sales', 'house:adjustments')),
  amount_cents bigint not null check (amount_cents >= 0),
  balance_after_cents bigint not null check (balance_after_cents >= 0),
  order_id text,
  -- The name of this movement outside the store (a bank reference, a support ticket). The same one twice is the same movement.
  reference text check (char_length(reference) between 1 and 200),
  note text check (char_length(note) <= 500),
  created_at timestamptz not null,
  primary key (account_id, seq),
  check (debit <> credit and 'customer' in (debit, credit)),
  check ((kind in ('order', 'refund')) = (order_id is not null)),
  check (
    case kind
      when 'funding' then debit = 'house:cash'
      when 'adjustment' then 'house:adjustments' in (debit, credit)
      when 'order' then credit = 'house:sales'
      when 'refund' then debit = 'house:sales'
    end
  )
);

-- An order is paid once and refunded once.
create unique index transfers_order_once on transfers (account_id, order_id, kind) where order_id is not null;
create unique index transfers_reference_once on transfers (account_id, kind, reference) where reference is not null;

grant select, insert, update on balances to shopwire_app;
-- Append only.
grant select, insert on transfers to shopwire_app;

-- Which account a payment's reference credited first. The unique index above has the account in front, so it does not keep one
-- payment from crediting two accounts. Here two commands with the same reference meet on the primary key, and the second waits.
create table funding_references (
  reference text primary key check (char_length(reference) between 1 and 200),
  account_id text not null references accounts (id)
);

grant select, insert on funding_references to shopwire_app;
