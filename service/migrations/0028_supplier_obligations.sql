-- compatible-with: 26
-- Every request to a supplier is an obligation with a row, a lifecycle and a cost of its own, and its cost is booked to house accounts. See
-- docs/decisions/0033. Workers of the release before go on serving pools and settling the requests that are open; new requests, for
-- which they need the old primary key, they leave to workers of this release: their statement fails and the job is tried again.

alter table supplier_requests
  drop constraint supplier_requests_pkey,
  add constraint supplier_requests_pkey primary key using index supplier_requests_by_round,
  -- The lifecycle; functions/supply/advance_supplier_request.sql has the allowed transitions. `state` is its short form: it says whether
  -- the request is open ('asked'), is what workers of the release before read and write, and is kept in agreement by that function.
  --   requested    recorded, and perhaps sent
  --   accepted     the supplier is making the links (202)
  --   unknown      sent, and no answer or an invalid one
  --   fulfilled    the links came, and at least one went to the order
  --   collected    the links came when the order no longer needed them, and went to the pool
  --   refused      the supplier will not deliver
  --   unsent       it is certain that the supplier received nothing
  --   written_off  an operator decided not to wait any longer; the supplier may still send a bill
  add column stage text not null default 'requested',
  -- What one link was expected to cost when it was requested; null: not configured.
  add column unit_cost_cents bigint,
  -- What the supplier said that all links of the request cost.
  add column said_cents bigint,
  -- What was booked for it.
  add column cost_cents bigint,
  -- How many links came that this store had never held; null for requests of earlier releases.
  add column links smallint,
  add column ended_at timestamptz,
  -- Kept when the links came after all: an operator had decided that another supplier may be asked.
  add column written_off_at timestamptz;

update supplier_requests
   set stage = case
         when state = 'given' then 'fulfilled'
         when state = 'unsent' then 'unsent'
         when error = 'given_up' then 'written_off'
         else 'refused'
       end,
       ended_at = last_at,
       written_off_at = case when error = 'given_up' then last_at end
 where state <> 'asked';

-- What one link of the item costs, at the supplier and at the fallback; null: not known.
alter table item_supply
  add column cost_cents bigint,
  add column fallback_cost_cents bigint;

-- What requests of any hour may cost together; null: no limit.
alter table suppliers
  add column hourly_limit_cents bigint;

-- Supplier and request id, with a slash between, of the request that brought the link; null: it came otherwise.
alter table link_fingerprints
  add column made_by text;

-- Expected cost of the requests that were made in each minute, for suppliers with a limit. Changed only under the lock of the supplier's
-- row, except that a refusal gives back.
create table supplier_spending (
  supplier text collate "C" not null,
  minute timestamptz not null,
  cents bigint not null check (cents >= 0),
  primary key (supplier, minute)
);

grant select, insert, update, delete on supplier_spending to shopwire_app;

-- What suppliers are owed: house accounts, double entry like `transfers`, without a row that orders would have to lock. The reference of
-- a cost is the id of its request, that of a payment is the operator's, so neither can be booked twice.
create table supplier_transfers (
  supplier text collate "C" not null,
  kind text not null check (kind in ('cost', 'payment')),
  reference text collate "C" not null check (char_length(reference) between 1 and 200),
  debit text not null check (debit in ('house:goods', 'supplier')),
  credit text not null check (credit in ('supplier', 'house:cash')),
  amount_cents bigint not null check (amount_cents > 0),
  note text check (char_length(note) <= 500),
  booked_at timestamptz not null,
  primary key (supplier, kind, reference),
  check (
    case kind
      when 'cost' then debit = 'house:goods' and credit = 'supplier'
      when 'payment' then debit = 'supplier' and credit = 'house:cash'
    end
  )
);

create index supplier_transfers_booked on supplier_transfers (supplier, booked_at);

-- Append only.
grant select, insert on supplier_transfers to shopwire_app;
