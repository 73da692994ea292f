-- An order is paid, delivered or cancelled; it has the time of its end and of no other, and did not end before it began.
select id
  from orders
 where status not in ('paid', 'delivered', 'cancelled')
    or (status = 'delivered') <> (delivered_at is not null)
    or (status = 'cancelled') <> (cancelled_at is not null)
    or delivered_at < created_at
    or cancelled_at < created_at;
