-- The time of an order is the one in its id; otherwise operators cannot find it, and lists are out of order.
-- The ten characters after "ord_" are the milliseconds in base 32.
select o.id
  from orders o
 cross join (values ('0123456789abcdefghjkmnpqrstvwxyz')) as base32 (digits)
 where o.id not like 'ord\_%'
    or (extract(epoch from o.created_at) * 1000)::bigint
       <> ((strpos(digits, substr(o.id, 5, 1)) - 1)::bigint << 45)
        + ((strpos(digits, substr(o.id, 6, 1)) - 1)::bigint << 40)
        + ((strpos(digits, substr(o.id, 7, 1)) - 1)::bigint << 35)
        + ((strpos(digits, substr(o.id, 8, 1)) - 1)::bigint << 30)
        + ((strpos(digits, substr(o.id, 9, 1)) - 1)::bigint << 25)
        + ((strpos(digits, substr(o.id, 10, 1)) - 1)::bigint << 20)
        + ((strpos(digits, substr(o.id, 11, 1)) - 1)::bigint << 15)
        + ((strpos(digits, substr(o.id, 12, 1)) - 1)::bigint << 10)
        + ((strpos(digits, substr(o.id, 13, 1)) - 1)::bigint << 5)
        + (strpos(digits, substr(o.id, 14, 1)) - 1);
