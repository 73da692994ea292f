-- Changes a balance and writes the transfer. Nobody may call it but the functions that know what justifies a movement of money: refunds,
-- top-ups, what providers took back, and what an operator books. Returns nulls when the balance does not cover it.
create or replace function move_balance(
  p_account_id text, p_transfer_id text, p_kind text, p_debit text, p_credit text, p_amount_cents bigint, p_order_id text,
  p_reference text, p_note text, p_created_at timestamptz,
  out seq bigint, out balance_after_cents bigint
)
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_change constant bigint := case p_credit when 'customer' then p_amount_cents else -p_amount_cents end;
begin
  update balances b
     set balance_cents = b.balance_cents + v_change,
         transfer_count = b.transfer_count + 1
   where b.account_id = p_account_id
     and b.balance_cents + v_change >= 0
  returning b.transfer_count, b.balance_cents
       into seq, balance_after_cents;
  if not found then
    return;
  end if;
  insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, order_id, reference, note,
                         created_at)
  values (p_account_id, seq, p_transfer_id, p_kind, p_debit, p_credit, p_amount_cents, balance_after_cents, p_order_id, p_reference,
          p_note, p_created_at);
end
$$;

alter function move_balance owner to shopwire_functions;
