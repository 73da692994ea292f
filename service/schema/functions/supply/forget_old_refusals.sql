-- Deletes old refusals of a line, for which nothing is owed: an order that waits for weeks is refused every few minutes. The newest
-- 20 are always kept, and so is everything that was not refused or that an operator had written off. Returns how many were deleted.
create or replace function forget_old_refusals(p_account_id text, p_order_id text, p_line integer, p_kept integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_newest integer;
  v_deleted integer;
begin
  select max(r.round)
    into v_newest
    from supplier_requests r
   where r.account_id = p_account_id
     and r.order_id = p_order_id
     and r.line = p_line;
  delete from supplier_requests r
   where r.account_id = p_account_id
     and r.order_id = p_order_id
     and r.line = p_line
     and r.stage = 'refused'
     and r.written_off_at is null
     and r.round <= v_newest - greatest(p_kept, 20);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;

alter function forget_old_refusals owner to shopwire_maintenance;
