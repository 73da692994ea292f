-- One row per account: the lock that all its money moves take, and the sum of its transfers.
create table balances (
  account_id text primary key references accounts (id),
  balance_cents bigint not null default 0 check (balance_cents >= 0),
  transfer_count bigint not null default 0 check (transfer_count >= 0)
);

-- Double entry by construction: every row names the side that gives, the side that gets, and one amount. `customer` is the
-- account's own balance; house accounts have no balance row, they are sums over this table.
create table transfers (
  account_id text not null references accounts (id),
  -- Position in the account's statement, without gaps: taken under the lock of its balance.
  seq bigint not null check (seq > 0),
  id text not null,
  kind text not null check (kind in ('funding', 'adjustment', 'order', 'refund')),
  debit text not null check (debit in ('customer', 'house:cash', 'house:sales', 'house:adjustments')),
  credit text not null check (credit in ('customer', 'house:cash', 'house:sales', 'house:adjustments')),
  amount_cents bigint not null check (amount_cents >= 0),
  balance_after_cents bigint not null check (balance_after_cents >= 0),
  order_id text,
  -- What the outside calls this movement (a bank reference, a ticket). The same one twice is the same movement.
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

create unique index transfers_order_once on transfers (account_id, order_id, kind) where order_id is not null;
create unique index transfers_reference_once on transfers (account_id, kind, reference) where reference is not null;

grant select, insert, update on balances to shopwire_app;
grant select, insert on transfers to shopwire_app;
