-- compatible-with: 12
-- Mail waiting to be sent, written in the transaction of what it reports. Bodies are sealed: some hold a one-time link. They are
-- erased when the mail was handed over or given up.

create table outgoing_mail (
  id text primary key,
  -- The account it is about; null for mail about a person.
  account_id text,
  to_address text not null check (char_length(to_address) between 3 and 254),
  subject text not null check (char_length(subject) between 1 and 200),
  body_sealed bytea,
  body_kek_id text,
  created_at timestamptz not null,
  attempts integer not null default 0,
  -- When to try next. A sender moves it on before it tries, so that another one takes over if it dies.
  next_at timestamptz not null,
  sent_at timestamptz,
  failed_at timestamptz,
  check ((body_sealed is null) = (body_kek_id is null))
);

create index outgoing_mail_due on outgoing_mail (next_at) where sent_at is null and failed_at is null;
-- For removing what was sent or given up long ago.
create index outgoing_mail_created on outgoing_mail (created_at);
-- Rewrapping finds the rows that are still encrypted under an old key.
create index outgoing_mail_kek on outgoing_mail (body_kek_id);

grant select, insert, update, delete on outgoing_mail to shopwire_app;
-- The dashboard writes mail and never reads any.
grant insert on outgoing_mail to shopwire_dashboard;
