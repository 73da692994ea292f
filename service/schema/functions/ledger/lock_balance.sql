-- Takes the lock that every change of the account's money takes first, and returns the balance; null when there is no such account.
-- Not the strongest lock: rows that refer to the balance may be written meanwhile. A function, because a lock needs the right to
-- update, and no login has that right on balances.
create or replace function lock_balance(p_account_id text) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_balance bigint;
begin
  select b.balance_cents
    into v_balance
    from balances b
   where b.account_id = p_account_id
     for no key update;
  return v_balance;
end
$$;

alter function lock_balance owner to shopwire_functions;
