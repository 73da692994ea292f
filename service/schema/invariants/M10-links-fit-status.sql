-- A delivered order has one link for each unit, a cancelled one has none, a paid one never more than its lines ask for.
with held as (
  -- One bit for each unit that has a link: units 1 and 2 are 110 in binary.
  select account_id, order_id, line, count(*) as links, bit_or(1 << unit) as units
    from order_links
   group by account_id, order_id, line
), wanted as (
  select l.account_id, l.order_id, l.line, l.qty, (2 << l.qty) - 2 as units, o.status
    from order_lines l
    join orders o on o.account_id = l.account_id and o.id = l.order_id
)
select distinct coalesce(w.order_id, h.order_id)
  from wanted w
  full join held h on h.account_id = w.account_id and h.order_id = w.order_id and h.line = w.line
 where w.order_id is null
    or h.links > w.qty
    or h.units > w.units
    or (w.status = 'delivered' and (h.links, h.units) is distinct from (w.qty, w.units))
    or (w.status = 'cancelled' and h.links > 0);
