#!/bin/sh
# Run once by the PostgreSQL image, when its data folder is empty: the roles and the database of roles.psql, with the passwords of secrets/.
set -eu
roles=${SHOPWIRE_ROLES:-/docker-entrypoint-initdb.d/roles.psql}
secrets=${SHOPWIRE_SECRETS:-/run/secrets}

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --set=owner="$(cat "$secrets/owner_password")" \
  --set=api="$(cat "$secrets/api_password")" \
  --set=worker="$(cat "$secrets/worker_password")" \
  --set=operator="$(cat "$secrets/operator_password")" \
  --set=dashboard="$(cat "$secrets/dashboard_password")" \
  --file="$roles" --file=- <<'SQL'
alter role shopwire_owner password :'owner';
alter role shopwire_api password :'api';
alter role shopwire_worker password :'worker';
alter role shopwire_operator password :'operator';
alter role shopwire_web password :'dashboard';
SQL
