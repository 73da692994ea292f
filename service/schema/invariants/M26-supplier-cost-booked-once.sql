-- What suppliers are owed: each request that brought links is booked once, with its cost, and nothing else is.
with requests as (
  select supplier, order_id || '-' || line || case when round > 1 then '-' || round else '' end as id,
         case when stage in ('fulfilled', 'collected') then coalesce(cost_cents, 0) else 0 end as cents
    from supplier_requests
), booked as (
  select supplier, reference as id, sum(amount_cents) as cents, count(*) as times
    from supplier_transfers
   where kind = 'cost'
   group by supplier, reference
)
select coalesce(r.supplier, b.supplier) || '/' || coalesce(r.id, b.id)
  from requests r
  full join booked b on b.supplier = r.supplier and b.id = r.id
 where coalesce(r.cents, 0) <> coalesce(b.cents, 0)
    or b.times > 1;
