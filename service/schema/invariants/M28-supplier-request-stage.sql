-- The times and the cost of every request to a supplier fit its place in the lifecycle: it is open as long as it has no end.
select supplier || '/' || order_id || '-' || line || case when round > 1 then '-' || round else '' end
  from supplier_requests
 where (stage in ('requested', 'accepted', 'unknown')) <> (ended_at is null)
    or (cost_cents is not null and stage not in ('fulfilled', 'collected'))
    or (stage = 'written_off' and written_off_at is null);
