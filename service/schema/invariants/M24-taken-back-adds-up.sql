-- No more is taken back than was credited, and an account's adjustments for reversals are what its reversals say was taken and not returned.
with reversed as (
  select account_id, top_up_id, sum(amount_cents) filter (where returned_at is null) as cents
    from top_up_reversals
   group by account_id, top_up_id
), taken as (
  select account_id, sum(taken_cents) filter (where returned_at is null) as cents
    from top_up_reversals
   group by account_id
), booked as (
  select account_id, -sum(change_cents) as cents
    from transfers
   where kind = 'adjustment'
     and note ~ ', rev_[0-9a-z]{26}$'
   group by account_id
)
select t.id
  from top_ups t
  join reversed r on r.account_id = t.account_id and r.top_up_id = t.id
 where coalesce(r.cents, 0) > coalesce(t.credited_cents, 0)
union all
select coalesce(k.account_id, b.account_id)
  from taken k
  full join booked b on b.account_id = k.account_id
 where coalesce(k.cents, 0) <> coalesce(b.cents, 0);
