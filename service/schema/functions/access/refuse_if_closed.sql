-- Nothing that gives access, or lets money in, is added to a closed account. The lock on the account's row makes any such insert
-- wait for a closing in progress. With its owner's rights, because the dashboard's role sees only one account.
create or replace function refuse_if_closed()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  perform from accounts where id = new.account_id and closed_at is null for key share;
  if not found then
    raise exception 'account % is closed, or does not exist', new.account_id using errcode = 'check_violation';
  end if;
  return new;
end
$$;

alter function refuse_if_closed owner to shopwire_functions;

create or replace trigger api_keys_of_open_accounts
  before insert on api_keys
  for each row
  execute function refuse_if_closed();

create or replace trigger personal_tokens_of_open_accounts
  before insert on personal_tokens
  for each row
  execute function refuse_if_closed();

create or replace trigger webhook_endpoints_of_open_accounts
  before insert on webhook_endpoints
  for each row
  execute function refuse_if_closed();

create or replace trigger invitations_of_open_accounts
  before insert on invitations
  for each row
  execute function refuse_if_closed();

create or replace trigger memberships_of_open_accounts
  before insert on memberships
  for each row
  execute function refuse_if_closed();

create or replace trigger top_ups_of_open_accounts
  before insert on top_ups
  for each row
  execute function refuse_if_closed();
