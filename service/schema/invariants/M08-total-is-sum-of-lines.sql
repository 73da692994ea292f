-- An order has 1 to 25 lines of different items, each of 1 to 10 units, and its total, at most $5,000, is their sum.
with items as (
  select account_id, order_id, item_id, sum(qty * unit_price_cents) as cents, count(*) as lines,
         min(qty) as qty_min, max(qty) as qty_max
    from order_lines
   group by account_id, order_id, item_id
), sums as (
  select account_id, order_id, sum(cents) as cents, sum(lines) as lines, max(lines) as lines_per_item,
         min(qty_min) as qty_min, max(qty_max) as qty_max
    from items
   group by account_id, order_id
)
select coalesce(o.id, s.order_id)
  from orders o
  full join sums s on s.account_id = o.account_id and s.order_id = o.id
 where o.total_cents is distinct from s.cents
    or o.total_cents not between 0 and 500000
    or s.lines not between 1 and 25
    or s.lines_per_item > 1
    or s.qty_min < 1
    or s.qty_max > 10;
