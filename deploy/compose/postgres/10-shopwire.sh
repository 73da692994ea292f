#!/bin/sh
# Run once by the PostgreSQL image, when its data folder is empty: roles with the passwords of secrets/, and the database.
set -eu

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --set=owner="$(cat /run/secrets/owner_password)" \
  --set=api="$(cat /run/secrets/api_password)" \
  --set=worker="$(cat /run/secrets/worker_password)" \
  --set=operator="$(cat /run/secrets/operator_password)" \
  --set=dashboard="$(cat /run/secrets/dashboard_password)" <<'SQL'
create role shopwire_dashboard nologin;
create role shopwire_api_rights nologin;
create role shopwire_worker_rights nologin;
create role shopwire_operator_rights nologin;
create role shopwire_readonly_rights nologin;
-- Own the functions that act with their rights. Nobody signs in as either.
create role shopwire_functions nologin;
create role shopwire_maintenance nologin;
create role shopwire_owner login password :'owner';
-- One for each process: the API, the worker, the operator's command, the dashboard.
create role shopwire_api login password :'api' in role shopwire_api_rights;
create role shopwire_worker login password :'worker' in role shopwire_worker_rights;
create role shopwire_operator login password :'operator' in role shopwire_operator_rights;
create role shopwire_web login password :'dashboard' in role shopwire_dashboard;
-- Lets whoever migrates replace those functions.
grant shopwire_functions, shopwire_maintenance to shopwire_owner;
-- Lets migrations and workers name the session that holds them up.
grant pg_read_all_stats to shopwire_owner, shopwire_maintenance;
create database shopwire owner shopwire_owner;
revoke all on database shopwire from public;
grant connect on database shopwire
   to shopwire_dashboard, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights;
SQL
