#!/bin/sh
# Does what the public PostgreSQL image does at its first start: initialises an empty folder, runs /docker-entrypoint-initdb.d, starts
# the server as user 999.
set -eu
export PGDATA=/var/lib/postgresql/18/docker PATH=/opt/postgres/native/bin:$PATH
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown -R 999:999 /var/lib/postgresql /var/run/postgresql
  exec setpriv --reuid=999 --regid=999 --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -D "$PGDATA" -U postgres --auth-host=scram-sha-256 --auth-local=trust --pwfile="$POSTGRES_PASSWORD_FILE" >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -w -o '-c listen_addresses= -k /var/run/postgresql' start >/dev/null
  export PGHOST=/var/run/postgresql
  for script in /docker-entrypoint-initdb.d/*.sh; do sh "$script"; done
  pg_ctl -D "$PGDATA" -w -m fast stop >/dev/null
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -k /var/run/postgresql
