-- On an unconfirmed database no job is claimed: the row stays as it is, and the worker gets one job fewer.
create or replace function skip_if_unconfirmed()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  if database_is_confirmed() then
    return new;
  end if;
  return null;
end
$$;

create or replace trigger jobs_taken_only_if_confirmed
  before update on jobs
  for each row
  when (new.attempts > old.attempts)
  execute function skip_if_unconfirmed();
