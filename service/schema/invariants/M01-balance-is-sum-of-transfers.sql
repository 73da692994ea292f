-- Every account has one balance, and it is the sum of the account's transfers.
with sums as (
  select account_id, sum(change_cents) as cents
    from transfers
   group by account_id
)
select a.id
  from accounts a
  left join balances b on b.account_id = a.id
  left join sums s on s.account_id = a.id
 where b.balance_cents is distinct from coalesce(s.cents, 0);
