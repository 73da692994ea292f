-- How much the refund rule may do by itself. A clock that jumped makes everything that waits look overdue; the rule then stops
-- at its limit and stays stopped until an operator has looked.
alter table refund_rule
  add column per_hour_max integer not null default 100 check (per_hour_max > 0),
  -- Refunds by the rule since the window began, counted in the transaction of each.
  add column window_started_at timestamptz not null default now(),
  add column window_count integer not null default 0 check (window_count >= 0),
  -- Not null: it stopped then, and does not go on by itself.
  add column held_at timestamptz,
  -- How often an operator let it go on. Processes that keep a count of their own begin it anew with each.
  add column releases integer not null default 0;
