-- Takes back what a provider took back by one refund or dispute, as far as the balance goes; the rest is owed. Never takes more
-- than was credited. A reference that is known already takes nothing. Returns what was booked, nulls when it was known.
create or replace function take_back_top_up(
  p_account_id text, p_top_up_id text, p_reversal_id text, p_kind text, p_provider_reference text, p_provider_status text,
  p_is_settled boolean, p_provider_cents bigint, p_at timestamptz,
  out amount_cents bigint, out taken_cents bigint, out owed_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  -- Every change of a reversal happens under the lock of the balance.
  v_balance constant bigint := lock_balance(p_account_id);
begin
  perform from top_up_reversals r where r.provider_reference = p_provider_reference;
  if found then
    return;
  end if;
  select least(p_provider_cents, coalesce(t.credited_cents, 0) - coalesce(sum(r.amount_cents) filter (where r.returned_at is null), 0))
    into strict amount_cents
    from top_ups t
    left join top_up_reversals r on r.account_id = t.account_id and r.top_up_id = t.id
   where t.account_id = p_account_id
     and t.id = p_top_up_id
   group by t.credited_cents;
  taken_cents := least(amount_cents, v_balance);
  owed_cents := amount_cents - taken_cents;
  if taken_cents > 0 then
    perform move_balance(p_account_id, 'adjustment', -taken_cents, null, p_provider_reference,
                         case p_kind when 'refund' then 'Refunded to the card' else 'Disputed card payment' end || ', ' || p_reversal_id,
                         p_at);
  end if;
  insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, provider_status, is_settled, provider_cents,
                                amount_cents, taken_cents, owed_cents, created_at)
  values (p_account_id, p_reversal_id, p_top_up_id, p_kind, p_provider_reference, p_provider_status, p_is_settled, p_provider_cents,
          amount_cents, taken_cents, owed_cents, p_at);
end
$$;

alter function take_back_top_up owner to shopwire_functions;
