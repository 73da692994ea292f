-- Which account a payment's reference credited first. The key of a transfer leads with its account, so nothing there keeps one wire
-- from crediting two; here two commands that race for a reference meet on the primary key, and the second waits for the first.
create table funding_references (
  reference text primary key check (char_length(reference) between 1 and 200),
  account_id text not null references accounts (id)
);

insert into funding_references (reference, account_id)
select distinct on (reference) reference, account_id
  from transfers
 where kind = 'funding'
   and reference is not null
 order by reference, created_at, id;

grant select, insert on funding_references to shopwire_app;
