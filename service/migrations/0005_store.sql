-- Whether the shop takes orders. One row.
create table store_state (
  only_row boolean primary key default true check (only_row),
  is_open boolean not null,
  reason text check (char_length(reason) <= 200),
  changed_at timestamptz not null
);

insert into store_state (is_open, changed_at) values (true, now());

grant select, update on store_state to shopwire_app;
