-- Every paid order has its job, without which nobody would ever deliver it.
select o.id
  from orders o
  left join jobs j on j.account_id = o.account_id and j.queue = 'fulfil' and j.subject = o.id
 where o.status = 'paid'
   and j.subject is null;
