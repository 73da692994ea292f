-- compatible-with: 16
-- API keys in the dashboard: who made a key, which one it replaces, and how much each is used.

-- Null when an operator made it. The name is the one at that time, so that a key still says who made it when they have left.
alter table api_keys
  add column created_by text,
  add column created_by_name text,
  add column rotated_from text;

grant select (created_by, created_by_name, rotated_from) on api_keys to shopwire_dashboard;

-- What each key did in each hour. Written in batches by API processes, after the answers (access/key-usage.ts); a process that is
-- killed loses its last seconds. No foreign key, which would cost more than the row.
create table key_usage (
  account_id text not null,
  key_id text not null,
  hour timestamptz not null,
  -- Admitted: signed correctly, fresh, and within the limits.
  requests bigint not null,
  -- Orders that were bought.
  orders bigint not null,
  last_used_at timestamptz not null,
  last_address text not null,
  primary key (account_id, key_id, hour)
);

-- For the worker, which deletes old hours.
create index key_usage_hour on key_usage (hour);

-- The last use of each key, for as long as the key exists: the hours are kept for some weeks only.
create table key_last_uses (
  account_id text not null,
  key_id text not null,
  last_used_at timestamptz not null,
  -- Null for a use before addresses were recorded.
  last_address text,
  primary key (account_id, key_id)
);

-- Whether a key was used before this was recorded is not known. It counts as used until now, so that no key looks unused that is not.
insert into key_last_uses (account_id, key_id, last_used_at)
select account_id, id, coalesce(revoked_at, now())
  from api_keys;

alter table key_usage enable row level security;
create policy all_accounts on key_usage to shopwire_app using (true) with check (true);
create policy own_account on key_usage to shopwire_dashboard
  using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

alter table key_last_uses enable row level security;
create policy all_accounts on key_last_uses to shopwire_app using (true) with check (true);
create policy own_account on key_last_uses to shopwire_dashboard
  using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

grant select, insert, update, delete on key_usage to shopwire_app;
grant select, insert, update on key_last_uses to shopwire_app;
grant select on key_usage, key_last_uses to shopwire_dashboard;

-- A revocation has to reach the admission store that API processes use.
grant select on admission_in_use to shopwire_dashboard;
