-- Every paid order has its job, and so has every order that a supplier may still owe links for; otherwise it would never be delivered.
select o.id
  from orders o
  left join jobs j on j.account_id = o.account_id and j.queue = 'fulfil' and j.subject = o.id
 where j.subject is null
   and (o.status = 'paid'
        or exists (select
                     from supplier_requests r
                    where r.account_id = o.account_id
                      and r.order_id = o.id
                      and r.ended_at is null));
