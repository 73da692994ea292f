-- Deletes nonces of requests that are too old to be admitted. purged_to moves in the same transaction, so a nonce is never deleted
-- while a request with it could still be admitted.
create or replace function purge_nonces(p_signed_to bigint)
returns bigint
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  purged bigint;
begin
  -- One purge at a time; the others have nothing to do.
  if not pg_try_advisory_xact_lock(5348094773) then
    return 0;
  end if;
  update admission_memory set purged_to = p_signed_to where purged_to < p_signed_to;
  delete from spent_nonces where signed_at <= p_signed_to;
  get diagnostics purged = row_count;
  delete from witnessed_nonces where signed_at <= p_signed_to;
  delete from witnessed_refusals where refused_to <= p_signed_to;
  return purged;
end
$$;
