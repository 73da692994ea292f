-- An operator writes off what is owed under one reversal. Returns the amount.
create or replace function write_off_owed(p_account_id text, p_reversal_id text) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_owed bigint;
begin
  perform lock_balance(p_account_id);
  select r.owed_cents
    into strict v_owed
    from top_up_reversals r
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  update top_up_reversals r
     set owed_cents = 0,
         written_off_cents = r.written_off_cents + r.owed_cents
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  return v_owed;
end
$$;

alter function write_off_owed owner to shopwire_functions;
