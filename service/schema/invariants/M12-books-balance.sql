-- All balances together are what the house took in, less what it was paid and gave away.
select 'all accounts'
 where (select coalesce(sum(balance_cents), 0) from balances)
       <> (select coalesce(sum(change_cents), 0) from transfers);
