-- Between two attempts of a delivery lies at least what was promised: a minute, doubling, up to an hour.
select event_id
  from (select event_id, n, started_at,
               lag(finished_at) over (partition by account_id, endpoint_id, event_id, round order by n) as before
          from attempts_made) a
 where started_at - before < least(60 * 2 ^ (n - 2), 3600) * interval '1 s';
