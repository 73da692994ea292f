-- The provider has the money of a refund or dispute again: the refund failed, or the dispute was won. The amount taken from the
-- balance is returned, once, and none of it is owed any more. Null when it was returned before.
create or replace function return_reversal(
  p_account_id text, p_reversal_id text, p_provider_status text, p_at timestamptz,
  out returned_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_kind text;
  v_reference text;
  v_returned_at timestamptz;
begin
  perform lock_balance(p_account_id);
  select r.kind, r.provider_reference, r.taken_cents, r.returned_at
    into strict v_kind, v_reference, returned_cents, v_returned_at
    from top_up_reversals r
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  if v_returned_at is not null then
    returned_cents := null;
    return;
  end if;
  -- Before the money: a credit collects what is owed.
  update top_up_reversals r
     set provider_status = p_provider_status,
         is_settled = true,
         owed_cents = 0,
         written_off_cents = r.amount_cents - r.taken_cents,
         returned_at = p_at
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  if returned_cents > 0 then
    perform move_balance(p_account_id, 'adjustment', returned_cents, null, v_reference || ':returned',
                         case v_kind when 'refund' then 'Refund to the card failed, ' else 'Dispute won, ' end || p_reversal_id,
                         p_at);
  end if;
end
$$;

alter function return_reversal owner to shopwire_functions;
