-- Every job to fulfil an order has an order that is still to be fulfilled, or one that a supplier may still owe links for.
select j.subject
  from jobs j
  left join orders o on o.account_id = j.account_id and o.id = j.subject and o.status = 'paid'
 where j.queue = 'fulfil'
   and o.id is null
   and not exists (select
                     from supplier_requests r
                    where r.account_id = j.account_id
                      and r.order_id = j.subject
                      and r.ended_at is null);
