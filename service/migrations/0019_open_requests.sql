-- `unsent`: it is certain that the request never reached the supplier, so nothing can be owed for it and another may be asked.
alter table supplier_requests drop constraint supplier_requests_state_check;
alter table supplier_requests
  add constraint supplier_requests_state_check check (state in ('asked', 'given', 'refused', 'unsent'));

-- An order keeps its job until none of its requests is open, also after it was cancelled or delivered otherwise: what a supplier
-- made for it is collected and sold from the pool. Orders that ended before have lost theirs.
insert into jobs (account_id, queue, subject, run_at, created_at)
select distinct account_id, 'fulfil', order_id, clock_timestamp(), clock_timestamp()
  from supplier_requests
 where state = 'asked'
    on conflict do nothing;
