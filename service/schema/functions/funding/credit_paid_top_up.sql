-- Credits a top-up that its provider reports as paid: once, with exactly the requested amount, and only with a payment that has
-- credited nothing else. The worker queries the provider and calls this. It cannot create a top-up or change its amount, and it
-- cannot credit bank transfers or top-ups that wait for an operator. Its verdicts are those of book_top_up.
create or replace function credit_paid_top_up(
  p_account_id text, p_top_up_id text, p_payment text, p_note text, p_at timestamptz,
  out verdict text, out seq bigint, out balance_after_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_provider text;
  v_amount bigint;
begin
  select t.provider, t.amount_cents
    into v_provider, v_amount
    from top_ups t
   where t.account_id = p_account_id
     and t.id = p_top_up_id
     and t.provider <> 'bank'
     and t.state in ('pending', 'expired', 'failed')
     for update;
  if not found or p_payment is null then
    raise exception 'account % has no top-up % that waits for its provider', p_account_id, p_top_up_id
      using errcode = 'check_violation';
  end if;
  select b.verdict, b.seq, b.balance_after_cents
    into verdict, seq, balance_after_cents
    from book_top_up(p_account_id, p_top_up_id, v_amount, v_provider || ':' || p_payment, p_note, p_payment, p_at) b;
end
$$;

alter function credit_paid_top_up owner to shopwire_functions;
