-- The balance written beside a transfer is the sum of the account's transfers up to it.
select account_id || '/' || seq
  from (select account_id, seq, balance_after_cents,
               sum(change_cents) over (partition by account_id order by seq) as cents
          from transfers) t
 where balance_after_cents <> cents;
