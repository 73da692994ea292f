-- The time of an order is the one in its id; otherwise operators cannot find it, and lists are out of order.
select o.id
  from orders o
 cross join lateral (
   -- The ten characters after "ord_" are the milliseconds in base 32.
   select sum((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(o.id, 4 + n, 1)) - 1) * (32 ^ (10 - n))::bigint) as ms
     from generate_series(1, 10) n
 ) made
 where o.id not like 'ord\_%'
    or (extract(epoch from o.created_at) * 1000)::bigint <> made.ms;
