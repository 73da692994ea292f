-- A top-up keeps its account, amount and payment page, and a decision about it is final, for every role: it is credited once, and
-- one that waits for an operator does not return to waiting for its provider.
create or replace function keep_top_up_decided()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  raise exception 'top-up % is "%" and cannot be changed to "%" or given another amount', old.id, old.state, new.state
    using errcode = 'check_violation';
end
$$;

create or replace trigger top_ups_stay_decided
  before update on top_ups
  for each row
  when ((new.account_id, new.id, new.provider, new.amount_cents, new.reference, new.provider_session)
          is distinct from (old.account_id, old.id, old.provider, old.amount_cents, old.reference, old.provider_session)
        or (old.state in ('credited', 'rejected')
            and (new.state, new.decided_at, new.provider_payment, new.credited_cents, new.credited_seq)
                  is distinct from (old.state, old.decided_at, old.provider_payment, old.credited_cents, old.credited_seq))
        or (new.state <> old.state
            and (old.state, new.state) not in (
              ('pending', 'credited'), ('pending', 'review'), ('pending', 'failed'), ('pending', 'expired'), ('pending', 'rejected'),
              ('failed', 'credited'), ('failed', 'review'), ('expired', 'credited'), ('expired', 'review'),
              ('review', 'credited'), ('review', 'rejected'))))
  execute function keep_top_up_decided();
