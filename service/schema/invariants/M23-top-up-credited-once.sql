-- A credited top-up has exactly one funding transfer, of its amount, and no transfer credits two top-ups.
select t.id
  from top_ups t
  left join transfers f
    on f.account_id = t.account_id and f.seq = t.credited_seq and f.kind = 'funding' and f.change_cents = t.credited_cents
 where t.state = 'credited'
 group by t.account_id, t.id
having count(f.seq) <> 1
union all
select account_id || '/' || credited_seq
  from top_ups
 where credited_seq is not null
 group by account_id, credited_seq
having count(*) > 1;
