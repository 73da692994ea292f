-- Nothing that was sent after a key's revocation returned succeeded.
-- Where the journal has no time for it, the revocation is given ten seconds.
select c.seq
  from t_calls c
  join api_keys k on k.id = c.key_id
  left join t_revocations r on r.key_id = c.key_id
 where c.status < 400
   and c.sent_at > coalesce(r.returned_at, k.revoked_at + interval '10 s');
