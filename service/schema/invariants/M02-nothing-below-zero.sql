-- No balance is below zero, and none ever was.
select account_id
  from balances
 where balance_cents < 0
 union all
select account_id || '/' || seq
  from transfers
 where balance_after_cents < 0;
