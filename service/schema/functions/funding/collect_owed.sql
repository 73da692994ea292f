-- Takes what an account owes, oldest first, as far as the balance goes. Called by move_balance for all incoming money.
create or replace function collect_owed(p_account_id text, p_at timestamptz)
returns void
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_balance bigint := lock_balance(p_account_id);
  v_reversal record;
  v_collected bigint;
begin
  for v_reversal in
    select r.id, r.kind, r.owed_cents
      from top_up_reversals r
     where r.account_id = p_account_id
       and r.owed_cents > 0
     order by r.id
  loop
    exit when v_balance = 0;
    v_collected := least(v_reversal.owed_cents, v_balance);
    v_balance := v_balance - v_collected;
    perform book_transfer(p_account_id, 'adjustment', -v_collected, null, v_reversal.id || ':owed:' || v_reversal.owed_cents,
                          'Owed for a ' || v_reversal.kind || ' of a card payment, ' || v_reversal.id, p_at);
    update top_up_reversals r
       set taken_cents = r.taken_cents + v_collected,
           owed_cents = r.owed_cents - v_collected
     where r.account_id = p_account_id
       and r.id = v_reversal.id;
  end loop;
end
$$;

alter function collect_owed owner to shopwire_functions;
