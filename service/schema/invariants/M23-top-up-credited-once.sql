-- A credited top-up has exactly one funding transfer, of its amount, and no transfer credits two top-ups.
select t.id
  from top_ups t
  left join transfers f
    on f.account_id = t.account_id and f.id = t.credited_transfer_id and f.kind = 'funding' and f.amount_cents = t.credited_cents
 where t.state = 'credited'
 group by t.account_id, t.id
having count(f.id) <> 1
union all
select credited_transfer_id
  from top_ups
 where credited_transfer_id is not null
 group by account_id, credited_transfer_id
having count(*) > 1;
