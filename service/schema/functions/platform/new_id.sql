-- An id as platform/text/ids.ts makes them: a UUIDv7 in lower-case Crockford base32 after its prefix. The milliseconds are followed
-- by microseconds, so that the rows of one transaction sort in the order they were written.
create or replace function new_id(p_prefix text, p_at timestamptz) returns text
language sql
volatile
set search_path = pg_catalog, shopwire, pg_temp
as $$
  with parts as materialized (
    select floor(extract(epoch from p_at) * 1000000)::bigint as us, replace(gen_random_uuid()::text, '-', '') as random
  ), id as (
    select B'00' || (us / 1000)::bit(48) || B'0111' || (us % 1000)::integer::bit(10) || ('x' || substr(random, 1, 1))::bit(2)
             || B'10' || ('x' || substr(random, 2, 11))::bit(44) || ('x' || substr(random, 21, 5))::bit(18) as bits
      from parts
  )
  select p_prefix || '_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(bits from 5 * n + 1 for 5)::bit(5)::integer + 1, 1), ''
                                       order by n)
    from id, generate_series(0, 25) n
$$;
