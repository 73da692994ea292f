-- Records durably that a request was refused without storing its nonce. Returns the latest such time.
create or replace function witness_refusal(p_account_id text, p_is_order boolean, p_signed_at bigint)
returns bigint
language sql
set search_path = pg_catalog, shopwire, pg_temp
as $$
  insert into witnessed_refusals as r (account_id, is_order, refused_to)
  values (p_account_id, p_is_order, p_signed_at)
      on conflict (account_id, is_order) do update
     set refused_to = greatest(r.refused_to, excluded.refused_to)
  returning refused_to
$$;
