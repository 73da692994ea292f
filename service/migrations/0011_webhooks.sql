-- Where an account wants its events. At most one at a time; another URL is another row, so that nothing queued for the old
-- destination can ever reach the new one, or the other way round.
create table webhook_endpoints (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  url text not null check (char_length(url) <= 2048),
  -- The key that set it, for the account's owner to see.
  set_by text not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  last_delivered_at timestamptz,
  last_failure_at timestamptz,
  last_error text check (char_length(last_error) <= 50),
  -- The share of failures that was last told of; back to zero with the next success.
  alerted_percent smallint not null default 0,
  primary key (account_id, id)
);

create unique index webhook_endpoints_live on webhook_endpoints (account_id) where ended_at is null;

-- What events are signed with. The newest signs; the one before it signs too, in a header of its own, until it has ended.
create table webhook_secrets (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  secret_sealed bytea not null,
  secret_kek_id text not null,
  created_at timestamptz not null,
  ends_at timestamptz,
  primary key (account_id, id)
);

create unique index webhook_secrets_current on webhook_secrets (account_id) where ends_at is null;

-- The bytes as they are sent, the same every time. Made when they are first needed: an order's event says what can no longer
-- change, so nothing is lost by making them late, and an order costs less.
alter table events add column body_sealed bytea;
alter table events add column body_kek_id text;
create index events_kek on events (body_kek_id) where body_kek_id is not null;
grant update (body_sealed, body_kek_id) on events to shopwire_app;

create table deliveries (
  account_id text not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'cancelled')),
  -- Grows when an operator has it sent again; attempts and the 24 hours begin anew.
  round smallint not null default 1,
  attempts smallint not null default 0 check (attempts between 0 and 12),
  created_at timestamptz not null,
  next_at timestamptz not null,
  done_at timestamptz,
  primary key (account_id, event_id, endpoint_id),
  foreign key (account_id, endpoint_id) references webhook_endpoints (account_id, id),
  foreign key (account_id, event_id) references events (account_id, id),
  check ((state = 'pending') = (done_at is null))
);

create index deliveries_due on deliveries (account_id, endpoint_id, next_at, event_id) where state = 'pending';
create index deliveries_failed on deliveries (account_id, endpoint_id) where state = 'failed';

-- Every attempt, for the account's owner and for us. Never what was sent or answered.
create table delivery_attempts (
  account_id text not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  round smallint not null,
  n smallint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  status smallint,
  error text check (char_length(error) <= 50),
  remote_address inet,
  primary key (account_id, event_id, endpoint_id, round, n),
  foreign key (account_id, event_id, endpoint_id) references deliveries (account_id, event_id, endpoint_id)
);

create index delivery_attempts_recent on delivery_attempts (account_id, endpoint_id, finished_at);

-- How far the current round of catalogue.changed has come. One row; every account is told at most once a minute because
-- rounds begin at least that far apart.
create table catalogue_announcement (
  only_row boolean primary key default true check (only_row),
  -- The last revision that was told, or is being told.
  revision bigint not null,
  begun_at timestamptz not null,
  -- Accounts up to this one have been told; null between two rounds.
  told_up_to text
);

insert into catalogue_announcement (revision, begun_at) select revision, 'epoch' from catalogue_state;

grant select, update on catalogue_announcement to shopwire_app;

-- Events are kept for a while, not for ever. Of those older than this some or all are gone, with their deliveries.
create table event_retention (
  only_row boolean primary key default true check (only_row),
  kept_since timestamptz not null
);

insert into event_retention (kept_since) values ('epoch');
create index events_created on events (created_at);

grant select, update on event_retention to shopwire_app;

-- What somebody should hear of. Read by people, and by whatever writes to them.
create table notices (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  kind text not null check (kind in ('webhook.failing', 'webhook.given_up')),
  details jsonb not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);

grant select, insert on notices to shopwire_app;
grant select, insert, update on webhook_endpoints, webhook_secrets to shopwire_app;
grant select, insert, update, delete on deliveries to shopwire_app;
grant select, insert, delete on delivery_attempts to shopwire_app;
grant delete on events to shopwire_app;

-- Writes an event and, when the account has an endpoint, its delivery and the job that makes it. In the transaction that
-- makes the event true. The endpoint is held until the commit: a change of URL waits, and then cancels this delivery too.
create or replace function record_event(
  p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamptz
)
returns void
language plpgsql as $$
declare
  v_endpoint_id text;
begin
  insert into events (account_id, id, type, order_id, revision, created_at)
  values (p_account_id, p_event_id, p_type, p_order_id, p_revision, p_created_at);
  select e.id
    into v_endpoint_id
    from webhook_endpoints e
   where e.account_id = p_account_id
     and e.ended_at is null
     for share;
  if found then
    insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at)
    values (p_account_id, v_endpoint_id, p_event_id, p_created_at, clock_timestamp());
    insert into jobs as j (account_id, queue, subject, run_at, created_at)
    values (p_account_id, 'deliver', v_endpoint_id, clock_timestamp(), p_created_at)
        on conflict (account_id, queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true;
  end if;
end
$$;
