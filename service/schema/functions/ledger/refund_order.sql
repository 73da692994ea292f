-- Returns the full price of an order to the account that paid. Only for a cancelled order, which is final and cannot have been
-- delivered (functions/orders/keep_order_ended.sql); a second refund of it is refused by transfers_order_once.
create or replace function refund_order(
  p_account_id text, p_order_id text, p_created_at timestamptz,
  out seq bigint, out amount_cents bigint, out balance_after_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  select o.total_cents
    into amount_cents
    from orders o
   where o.account_id = p_account_id
     and o.id = p_order_id
     and o.status = 'cancelled';
  if not found then
    raise exception 'account % has no cancelled order %, so nothing is refunded', p_account_id, p_order_id
      using errcode = 'check_violation';
  end if;
  select m.seq, m.balance_after_cents
    into seq, balance_after_cents
    from move_balance(p_account_id, 'refund', amount_cents, p_order_id, null, null, p_created_at) m;
end
$$;

alter function refund_order owner to shopwire_functions;
