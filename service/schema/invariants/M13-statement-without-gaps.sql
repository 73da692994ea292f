-- An account's transfers are numbered from 1 without a gap, and its balance row holds their number.
with numbers as (
  select account_id, count(*) as transfers, min(seq) as first, max(seq) as last
    from transfers
   group by account_id
)
select coalesce(b.account_id, n.account_id)
  from balances b
  full join numbers n on n.account_id = b.account_id
 where b.transfer_count is distinct from coalesce(n.transfers, 0)
    or n.first <> 1
    or n.last <> n.transfers;
