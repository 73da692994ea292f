-- All copies of an event have the same bytes, and each was genuine and signed no more than 300 seconds from its arrival.
select event_id
  from t_got
 group by event_id
having count(distinct body_hash) > 1
    or not bool_and(is_genuine)
    or max(abs(extract(epoch from received_at - signed_at))) > 300;
