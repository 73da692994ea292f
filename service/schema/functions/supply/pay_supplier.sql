-- Books a payment to a supplier, once for each reference; false when it was booked before.
create or replace function pay_supplier(
  p_supplier text, p_reference text, p_amount_cents bigint, p_note text, p_booked_at timestamptz
) returns boolean
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  insert into supplier_transfers (supplier, kind, reference, amount_cents, note, booked_at)
  values (p_supplier, 'payment', p_reference, p_amount_cents, p_note, p_booked_at)
      on conflict (supplier, kind, reference) do nothing;
  return found;
end
$$;

alter function pay_supplier owner to shopwire_functions;
