-- For nonces in Redis: uses up a nonce durably. `is_new` is false when it was used before. `refused_to` is set, and nothing is
-- written, when the request was signed no later than a refused one whose nonce was not stored.
create or replace function witness_nonce(
  p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_is_order boolean,
  out is_new boolean, out refused_to bigint
)
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  select r.refused_to into refused_to
    from witnessed_refusals r
   where r.account_id = p_account_id
     and r.is_order = p_is_order
     and r.refused_to >= p_signed_at;
  if found then
    perform from witnessed_nonces where account_id = p_account_id and key_id = p_key_id and nonce = p_nonce;
    is_new := not found;
    return;
  end if;
  insert into witnessed_nonces (account_id, key_id, nonce, signed_at)
  values (p_account_id, p_key_id, p_nonce, p_signed_at)
      on conflict do nothing;
  is_new := found;
end
$$;
