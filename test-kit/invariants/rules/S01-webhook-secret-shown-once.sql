-- A webhook secret was shown once: in the answer that made its endpoint, or by the command that rotated it.
select s.account_id
  from t_secrets s
  left join t_calls c on c.seq = s.seq
 group by s.account_id
having count(*) > count(distinct s.secret_hash)
    or count(distinct s.secret_hash) > (select count(*) from webhook_secrets w where w.account_id = s.account_id)
    or bool_or(c.method <> 'POST' or c.path <> '/v1/webhook');
