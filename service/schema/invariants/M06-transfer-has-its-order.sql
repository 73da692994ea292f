-- No money was taken or given back for an order that the account does not have.
select t.account_id || '/' || t.seq
  from transfers t
  left join orders o on o.account_id = t.account_id and o.id = t.order_id
 where t.kind in ('order', 'refund')
   and o.id is null;
