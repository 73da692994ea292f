-- A correction by an operator, up or down, with a reference that is used once and a reason. Returns nulls when the balance does not cover it.
create or replace function adjust_account(
  p_account_id text, p_change_cents bigint, p_reference text, p_note text, p_created_at timestamptz,
  out seq bigint, out balance_after_cents bigint
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if p_reference is null or p_note is null then
    raise exception 'a correction of a balance needs a reference and a reason' using errcode = 'check_violation';
  end if;
  select m.seq, m.balance_after_cents
    into seq, balance_after_cents
    from move_balance(p_account_id, 'adjustment', p_change_cents, null, p_reference, p_note, p_created_at) m;
end
$$;

alter function adjust_account owner to shopwire_functions;
