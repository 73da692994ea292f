-- In a store that keeps a journal of sold links, no order is delivered whose links are not in it, such as by a program that was
-- started without the journal. A program puts the orders into this setting, separated by commas, when it writes their links to the
-- journal. The class of the error code, 57, makes programs treat it like an unavailable database: the order waits for a worker that
-- writes the journal.
create or replace function refuse_unless_journalled()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if new.id = any (string_to_array(current_setting('shopwire.journalled', true), ','))
     or not exists (select from database_identity i where i.journal_id is not null) then
    return new;
  end if;
  raise exception 'this store keeps a journal of sold links, and this program does not write it'
    using errcode = '57S01',
          hint = 'Set SHOPWIRE_JOURNAL to the folder of the journal, as for the workers.';
end
$$;

create or replace trigger orders_delivered_only_if_journalled
  before update on orders
  for each row
  when (old.status = 'paid' and new.status = 'delivered')
  execute function refuse_unless_journalled();
