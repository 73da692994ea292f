-- Erases addresses in the large tables of a closed account, one chunk of each per call: the origins of orders, of attempts and of
-- reads of links, the answers and addresses of webhook receivers, and where keys were used. Orders are read by id, attempts by the
-- id of their event; the caller passes on last_id and last_event_id until rows is 0. With its owner's rights, because the
-- application may not otherwise change any of this.
create or replace function erase_account_rows(
  p_account_id text, p_after text, p_after_event text, p_chunk integer,
  out last_id text, out last_event_id text, out rows integer
)
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_ids text[];
  v_event_ids text[];
  v_count integer;
begin
  perform from accounts where id = p_account_id and closed_at is not null;
  if not found then
    raise exception 'account % is not closed', p_account_id using errcode = 'check_violation';
  end if;
  v_ids := array(select o.id
                   from orders o
                  where o.account_id = p_account_id
                    and o.id > p_after
                  order by o.id
                  limit p_chunk);
  last_id := coalesce(v_ids[cardinality(v_ids)], p_after);
  rows := cardinality(v_ids);
  update orders
     set client_address = null
   where account_id = p_account_id
     and id = any (v_ids)
     and client_address is not null;
  v_event_ids := array(select e.id
                         from events e
                        where e.account_id = p_account_id
                          and e.id > p_after_event
                        order by e.id
                        limit p_chunk);
  last_event_id := coalesce(v_event_ids[cardinality(v_event_ids)], p_after_event);
  rows := rows + cardinality(v_event_ids);
  update delivery_attempts
     set remote_address = null, answer_sealed = null, answer_kek_id = null
   where account_id = p_account_id
     and event_id = any (v_event_ids)
     and (remote_address is not null or answer_sealed is not null);
  update deliveries
     set first_address = null
   where account_id = p_account_id
     and event_id = any (v_event_ids)
     and first_address is not null;
  delete from order_attempts
   where ctid = any (array(select a.ctid from order_attempts a where a.account_id = p_account_id limit p_chunk));
  get diagnostics v_count = row_count;
  rows := rows + v_count;
  delete from link_reads
   where account_id = p_account_id
     and order_id = any (v_ids);
  delete from order_answers
   where account_id = p_account_id
     and order_id = any (v_ids);
  delete from key_usage
   where ctid = any (array(select u.ctid from key_usage u where u.account_id = p_account_id limit p_chunk));
  get diagnostics v_count = row_count;
  rows := rows + v_count;
end
$$;

alter function erase_account_rows owner to shopwire_maintenance;
