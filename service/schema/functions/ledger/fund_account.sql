-- Books incoming money on the word of an operator. Verdicts:
--   booked          the balance and its transfer are written
--   booked_again    written too; the reference has credited another account before, and the operator said that this is another payment
--   used_elsewhere  nothing is written: the reference has credited another account
create or replace function fund_account(
  p_account_id text, p_amount_cents bigint, p_reference text, p_note text, p_is_another_payment boolean, p_created_at timestamptz,
  out verdict text, out seq bigint, out balance_after_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  perform lock_balance(p_account_id);
  -- Two transactions with the same reference meet here, and the second waits.
  insert into funding_references (reference, account_id)
  values (p_reference, p_account_id)
      on conflict (reference) do nothing;
  verdict := case when found then 'booked' when p_is_another_payment then 'booked_again' else 'used_elsewhere' end;
  if verdict = 'used_elsewhere' then
    return;
  end if;
  select m.seq, m.balance_after_cents
    into seq, balance_after_cents
    from move_balance(p_account_id, 'funding', p_amount_cents, null, p_reference, p_note, p_created_at) m;
end
$$;

alter function fund_account owner to shopwire_functions;
