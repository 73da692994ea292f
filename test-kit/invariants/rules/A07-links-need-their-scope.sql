-- Links were shown only to keys that may read orders.
select c.seq
  from t_calls c
  join api_keys k on k.id = c.key_id
 where c.n_links > 0
   and not 'orders:read' = any (k.scopes);
