-- No more links were bought for a line than it has units, and none has two open requests, unless an operator wrote one of them off.
select r.order_id
  from supplier_requests r
  join order_lines l on l.account_id = r.account_id and l.order_id = r.order_id and l.line = r.line
 where r.stage not in ('refused', 'unsent')
   and r.written_off_at is null
 group by r.account_id, r.order_id, r.line, l.qty
having count(*) filter (where r.ended_at is null) > 1
    or sum(case when r.ended_at is null then r.qty else r.links end) > l.qty;
