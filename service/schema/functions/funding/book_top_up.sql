-- Credits a top-up: its money, and its state with the transfer that credited it. Called by confirm_top_up and credit_paid_top_up,
-- which check the justification. A payment that was booked by hand before is not booked again; the top-up gets that transfer, and
-- the unique index top_ups_transfer_once keeps it from being used for a second top-up. Verdicts: booked, booked_before;
-- used_elsewhere, and then nothing is written.
create or replace function book_top_up(
  p_account_id text, p_top_up_id text, p_amount_cents bigint, p_reference text, p_note text, p_payment text, p_at timestamptz,
  out verdict text, out seq bigint, out balance_after_cents bigint
)
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_amount bigint;
begin
  perform lock_balance(p_account_id);
  select t.seq, t.change_cents
    into seq, v_amount
    from transfers t
   where t.account_id = p_account_id
     and t.kind = 'funding'
     and t.reference = p_reference;
  if found then
    if v_amount <> p_amount_cents then
      raise exception 'the payment % was booked with % cents before, not %', p_reference, v_amount, p_amount_cents
        using errcode = 'check_violation';
    end if;
    verdict := 'booked_before';
  else
    select f.verdict, f.seq, f.balance_after_cents
      into verdict, seq, balance_after_cents
      from fund_account(p_account_id, p_amount_cents, p_reference, p_note, false, p_at) f;
    if verdict = 'used_elsewhere' then
      return;
    end if;
  end if;
  update top_ups t
     set state = 'credited',
         decided_at = p_at,
         provider_payment = coalesce(p_payment, t.provider_payment),
         credited_cents = p_amount_cents,
         credited_seq = seq,
         note = null,
         -- On an operator's word: the provider may still have a page that can be paid, or may have taken something back already.
         look_at = case when p_payment is null then now() end
   where t.account_id = p_account_id
     and t.id = p_top_up_id;
end
$$;

alter function book_top_up owner to shopwire_functions;
