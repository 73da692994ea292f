-- Changes a balance and writes the transfer. Called by move_balance and by collect_owed. Returns nulls when the balance does not cover it.
create or replace function book_transfer(
  p_account_id text, p_kind text, p_change_cents bigint, p_order_id text, p_reference text, p_note text, p_created_at timestamptz,
  out seq bigint, out balance_after_cents bigint
)
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  update balances b
     set balance_cents = b.balance_cents + p_change_cents,
         transfer_count = b.transfer_count + 1
   where b.account_id = p_account_id
     and b.balance_cents + p_change_cents >= 0
  returning b.transfer_count, b.balance_cents
       into seq, balance_after_cents;
  if not found then
    perform from balances b where b.account_id = p_account_id;
    if not found then
      raise 'account % has no balance', p_account_id using errcode = 'no_data_found';
    end if;
    return;
  end if;
  insert into transfers (account_id, seq, change_cents, balance_after_cents, created_at, kind, order_id, reference, note)
  values (p_account_id, seq, p_change_cents, balance_after_cents, p_created_at, p_kind, p_order_id, p_reference, p_note);
end
$$;

alter function book_transfer owner to shopwire_functions;
