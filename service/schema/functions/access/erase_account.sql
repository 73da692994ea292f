-- Erases names, addresses and other texts about people from a closed account, and the people who belonged to no other account.
-- Audit rows keep what was done, when, and the id of who did it. Never touches balances, transfers, amounts, idempotency keys or
-- fingerprints. The large tables are erased before: erase_account_rows.sql. Returns how many people were erased.
create or replace function erase_account(p_account_id text, p_at timestamptz) returns integer
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  c_erased constant text := 'erased';
  v_people text[];
  v_emails text[];
  v_audit_ids text[];
begin
  perform from accounts where id = p_account_id and closed_at is not null;
  if not found then
    raise exception 'account % is not closed', p_account_id using errcode = 'check_violation';
  end if;
  select coalesce(array_agg(p.id order by p.id), '{}'), coalesce(array_agg(p.email), '{}')
    into v_people, v_emails
    from people p
   where p.kind = 'customer'
     and (p.id = any (select unnest(a.closed_people) from accounts a where a.id = p_account_id)
          or exists (select from audit_log l where l.account_id = p_account_id and l.actor = 'person:' || p.id))
     and not exists (select from memberships m where m.person_id = p.id)
     and not exists (select
                       from invitations i
                      where i.email = p.email
                        and i.account_id <> p_account_id
                        and i.accepted_at is null
                        and i.withdrawn_at is null
                        and i.expires_at > p_at);

  update top_ups
     set created_by_name = c_erased, note = case when note is not null then c_erased end
   where account_id = p_account_id;
  update api_keys
     set name = c_erased, created_by_name = case when created_by_name is not null then c_erased end
   where account_id = p_account_id;
  delete from personal_tokens where account_id = p_account_id;
  update balance_alerts
     set threshold_cents = null
   where account_id = p_account_id;
  delete from alert_addresses where account_id = p_account_id;
  update accounts
     set name = 'Erased account', closed_people = null, erased_at = coalesce(erased_at, p_at),
         erased_people = coalesce(erased_people, '{}') || v_people
   where id = p_account_id;
  update webhook_endpoints
     set url = 'https://erased.invalid/', set_by_name = case when set_by_name is not null then c_erased end
   where account_id = p_account_id;
  update key_last_uses set last_address = null where account_id = p_account_id;
  delete from jobs
   where queue = 'mail'
     and subject in (select m.id from outgoing_mail m where m.account_id = p_account_id or m.to_address = any (v_emails));
  delete from people where id = any (v_people);
  delete from invitations where account_id = p_account_id;
  delete from invitations where email = any (v_emails) and (accepted_at is not null or withdrawn_at is not null or expires_at <= p_at);
  update sessions set account_id = null where account_id = p_account_id;
  delete from outgoing_mail where account_id = p_account_id or to_address = any (v_emails);
  -- Reads all audit rows, which can take long, so it runs before sealing is blocked.
  v_audit_ids := array(select l.id
                         from audit_log l
                        where l.account_id = p_account_id
                           or l.target = p_account_id
                           or l.details ->> 'account_id' = p_account_id
                           or l.target = any (v_people)
                           or (l.account_id is null and l.actor = any (select 'person:' || p from unnest(v_people) p)));
  -- Rows are sealed before or after this, never at the same time: a row that is committed to with a salt here must lose it here.
  perform from seal_progress for update;
  update audit_log l
     set address = null,
         details = jsonb_build_object('erased', true) || audit_details_kept(l.details)
   where l.id = any (v_audit_ids);
  update seal_commitments c
     set salt = null
   where c.audit_id = any (v_audit_ids)
     and c.salt is not null;
  return cardinality(v_people);
end
$$;

alter function erase_account owner to shopwire_maintenance;
