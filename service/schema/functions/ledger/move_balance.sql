-- Moves money of an account. Only functions that check the justification may call it: refunds, top-ups, what providers took back,
-- and bookings by an operator. Incoming money pays what the account owes first, by transfers that follow this one, so that no way
-- of crediting an account omits it. Returns nulls when the balance does not cover it.
create or replace function move_balance(
  p_account_id text, p_kind text, p_change_cents bigint, p_order_id text, p_reference text, p_note text, p_created_at timestamptz,
  out seq bigint, out balance_after_cents bigint
)
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  select b.seq, b.balance_after_cents
    into seq, balance_after_cents
    from book_transfer(p_account_id, p_kind, p_change_cents, p_order_id, p_reference, p_note, p_created_at) b;
  if p_change_cents > 0 then
    perform collect_owed(p_account_id, p_created_at);
  end if;
end
$$;

alter function move_balance owner to shopwire_functions;
