-- An item that is filled from a pool can be bought exactly while the pool has links; any other item is never held back.
select i.id
  from items i
  left join item_supply s on s.item_id = i.id
 where i.has_supply <> (s.source is distinct from 'pool' or s.pool_left > 0);
