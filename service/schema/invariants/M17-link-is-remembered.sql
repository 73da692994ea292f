-- Every link has its fingerprint, without which the same link could be taken in and sold again later.
select k.order_id
  from order_links k
  left join link_fingerprints f on f.hash = k.link_hash
 where f.hash is null
 union all
select p.item_id || '/' || p.id
  from pool_links p
  left join link_fingerprints f on f.hash = p.link_hash
 where f.hash is null;
