-- Books what a request cost in the transaction that stores its links, whatever program stores them. The request's id is the reference, so
-- it is booked once. With the rights of its owner: whoever stores links cannot book anything else.
create or replace function book_supplier_cost()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  insert into supplier_transfers (supplier, kind, reference, amount_cents, booked_at)
  values (new.supplier, 'cost', new.order_id || '-' || new.line || case when new.round > 1 then '-' || new.round else '' end,
          new.cost_cents, new.ended_at);
  return null;
end
$$;

alter function book_supplier_cost owner to shopwire_functions;

create or replace trigger supplier_requests_book_cost
  after update on supplier_requests
  for each row
  when (old.stage <> new.stage and new.stage in ('fulfilled', 'collected') and new.cost_cents > 0)
  execute function book_supplier_cost();
