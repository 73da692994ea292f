-- The short state of every request to a supplier agrees with its place in the lifecycle, and its times and cost fit both.
select supplier || '/' || order_id || '-' || line || case when round > 1 then '-' || round else '' end
  from supplier_requests
 where state is distinct from case
         when stage in ('requested', 'accepted', 'unknown') then 'asked'
         when stage in ('fulfilled', 'collected') then 'given'
         when stage in ('refused', 'written_off') then 'refused'
         when stage = 'unsent' then 'unsent'
       end
    or (state = 'asked') <> (ended_at is null)
    or (cost_cents is not null and state <> 'given')
    or (stage = 'written_off' and written_off_at is null);
