-- A dispute was decided for us: what it took is returned, once, and nothing of it is owed any more. Nulls when no such dispute took anything.
create or replace function return_dispute(
  p_account_id text, p_top_up_id text, p_dispute text, p_at timestamptz,
  out returned_cents bigint, out is_new boolean
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_id text;
begin
  perform lock_balance(p_account_id);
  select r.id, r.taken_cents, r.returned_at is null
    into v_id, returned_cents, is_new
    from top_up_reversals r
   where r.account_id = p_account_id
     and r.top_up_id = p_top_up_id
     and r.kind = 'dispute'
     and r.provider_reference = p_dispute;
  if not found or not is_new then
    return;
  end if;
  if returned_cents > 0 then
    perform move_balance(p_account_id, 'adjustment', returned_cents, null, p_dispute || ':won', 'Dispute won, ' || v_id, p_at);
  end if;
  update top_up_reversals r
     set owed_cents = 0,
         written_off_cents = r.amount_cents - r.taken_cents,
         returned_at = p_at
   where r.account_id = p_account_id
     and r.id = v_id;
end
$$;

alter function return_dispute owner to shopwire_functions;
