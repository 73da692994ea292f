#!/bin/sh
# Does what the public PostgreSQL image does at its first start: initialises an empty folder, runs /docker-entrypoint-initdb.d, starts
# the server as user 999.
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown -R 999:999 "$PGDATA" /var/run/postgresql
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
# The build of PostgreSQL 18 that npm has knows no lz4.
if ! postgres -D "$PGDATA" -C wal_compression -c wal_compression=lz4 >/dev/null 2>&1; then
  for argument; do
    shift
    set -- "$@" "$(printf %s "$argument" | sed 's/wal_compression=lz4/wal_compression=pglz/')"
  done
fi
exec "$@" -D "$PGDATA" -c listen_addresses='*' -k /var/run/postgresql
