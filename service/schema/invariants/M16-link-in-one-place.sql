-- No link is in a pool and in an order at the same time: it would be sold again.
select k.order_id, p.item_id, p.id
  from order_links k
  join pool_links p on p.link_hash = k.link_hash;
