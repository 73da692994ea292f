-- The part of an audit row's details that stays when its account is erased: ids, numbers and our own words. Everything else may be
-- about a person. The hash chain covers this part directly, so it must never change: an addition to the list here would change the
-- hashes of sealed rows.
create or replace function audit_details_kept(p_details jsonb) returns jsonb
language sql
immutable
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select case jsonb_typeof(p_details)
           when 'object' then
             coalesce((select jsonb_object_agg(d.key, d.value)
                         from jsonb_each(p_details) d
                        where d.key in ('account_id', 'alsoBookedAs', 'amount_cents', 'change_cents', 'event_id', 'events', 'is_new', 'isNew', 'kind',
                                        'link', 'links', 'order_id', 'people', 'person_id', 'role', 'scopes', 'sessions_ended', 'transfer_id',
                                        'with_links')), '{}')
             || case when p_details -> 'after' ? 'link'
                     then jsonb_build_object('after', jsonb_build_object('link', p_details -> 'after' -> 'link'))
                     else '{}' end
           else '{}'
         end
$$;
