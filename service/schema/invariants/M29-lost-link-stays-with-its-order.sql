-- A link that was sold in a time that a restore lost is held by no order but its own, and is not for sale.
select k.order_id
  from lost_links l
  join order_links k on k.link_hash = l.hash
 where (k.account_id = l.account_id and k.order_id = l.order_id) is not true
 union all
select p.id
  from lost_links l
  join pool_links p on p.link_hash = l.hash
 where p.set_aside_at is null;
