-- Takes what is owed under one reversal, as far as the balance goes.
create or replace function collect_owed(
  p_account_id text, p_reversal_id text, p_note text, p_at timestamptz,
  out collected_cents bigint, out balance_after_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_owed bigint;
begin
  balance_after_cents := lock_balance(p_account_id);
  select r.owed_cents
    into strict v_owed
    from top_up_reversals r
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  collected_cents := least(v_owed, balance_after_cents);
  if collected_cents = 0 then
    return;
  end if;
  select m.balance_after_cents
    into balance_after_cents
    from move_balance(p_account_id, 'adjustment', -collected_cents, null, p_reversal_id || ':owed:' || v_owed, p_note, p_at) m;
  update top_up_reversals r
     set taken_cents = r.taken_cents + collected_cents,
         owed_cents = r.owed_cents - collected_cents
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
end
$$;

alter function collect_owed owner to shopwire_functions;
