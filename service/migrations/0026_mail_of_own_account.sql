-- compatible-with: 25
-- The dashboard queues mail about the account its transaction is in, or about a person, and says nothing about what became of it.

alter table outgoing_mail enable row level security;
create policy all_accounts on outgoing_mail to shopwire_app using (true) with check (true);
-- For inserting alone: no policy lets the dashboard see a row.
create policy own_account on outgoing_mail for insert to shopwire_dashboard
  with check (account_id is null or account_id = nullif(current_setting('shopwire.account_id', true), ''));

revoke insert on outgoing_mail from shopwire_dashboard;
grant insert (id, account_id, to_address, subject, body_sealed, body_kek_id, created_at, next_at) on outgoing_mail to shopwire_dashboard;
