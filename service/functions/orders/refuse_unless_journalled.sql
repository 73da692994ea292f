-- In a store that keeps a journal of sold links, no order is delivered whose links are not in it: by a program that was started without
-- the journal, or one of the release before. finishDelivery names the order in this setting when it gives its links to the journal. The class of the code, 57, makes
-- programs treat it like a database that is away: the order waits for a worker that does.
create or replace function refuse_unless_journalled()
returns trigger
language plpgsql as $$
begin
  if current_setting('shopwire.journalled', true) = new.id
     or not exists (select from database_identity i where i.journal_id is not null) then
    return new;
  end if;
  raise exception 'this store keeps a journal of sold links, and this program does not write it'
    using errcode = '57S01',
          hint = 'Set SHOPWIRE_JOURNAL to the folder of the journal, as for the workers.';
end
$$;

-- Nobody may call it: it runs as a trigger only.
revoke execute on function refuse_unless_journalled from public;

create or replace trigger orders_delivered_only_if_journalled
  before update on orders
  for each row
  when (old.status = 'paid' and new.status = 'delivered')
  execute function refuse_unless_journalled();
