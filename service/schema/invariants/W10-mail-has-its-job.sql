-- Every mail that is not sent yet has the job that sends it.
select m.id
  from outgoing_mail m
  left join jobs j on j.queue = 'mail' and j.subject = m.id
 where j.subject is null;
