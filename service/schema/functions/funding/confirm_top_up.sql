-- Credits a top-up on the word of an operator who has seen the money, whatever amount came. Its verdicts are those of book_top_up.
create or replace function confirm_top_up(
  p_account_id text, p_top_up_id text, p_amount_cents bigint, p_reference text, p_note text, p_at timestamptz,
  out verdict text, out seq bigint, out balance_after_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  perform
     from top_ups t
    where t.account_id = p_account_id
      and t.id = p_top_up_id
      and t.state in ('pending', 'review', 'expired', 'failed')
      for update;
  if not found then
    raise exception 'account % has no open top-up %', p_account_id, p_top_up_id using errcode = 'check_violation';
  end if;
  select b.verdict, b.seq, b.balance_after_cents
    into verdict, seq, balance_after_cents
    from book_top_up(p_account_id, p_top_up_id, p_amount_cents, p_reference, p_note, null, p_at) b;
end
$$;

alter function confirm_top_up owner to shopwire_functions;
