create table if not exists events (
  id text primary key,
  claimed_at integer not null,
  handled_at integer
) strict;
