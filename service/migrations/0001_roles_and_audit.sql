-- The owner runs migrations. The application works as a member of shopwire_app and gets nothing that a grant below or in a
-- later file does not give it. Login users are made by whoever runs the database and granted this role.
do $$
begin
  create role shopwire_app nologin;
exception
  when duplicate_object or unique_violation then null;
end
$$;

grant usage on schema public to shopwire_app;
grant select on schema_migrations to shopwire_app;

-- What people did, for ever. The application can add and read, not change.
create table audit_log (
  id text primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  target text not null,
  details jsonb not null
);

create index audit_log_target on audit_log (target, id);

grant select, insert on audit_log to shopwire_app;
