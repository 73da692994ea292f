-- No link belongs to two units of orders.
select min(order_id), encode(link_hash, 'hex')
  from order_links
 group by link_hash
having count(*) > 1;
