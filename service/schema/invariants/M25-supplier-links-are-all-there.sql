-- Every link that a supplier made is sold, in a pool or set aside: as many as its request brought, and each in one place.
with places as (
  select link_hash from order_links
   union all
  select link_hash from pool_links
), made as (
  select f.made_by, count(distinct f.hash) as links, count(p.link_hash) as found
    from link_fingerprints f
    left join places p on p.link_hash = f.hash
   where f.made_by is not null
   group by f.made_by
), requests as (
  select supplier || '/' || order_id || '-' || line || case when round > 1 then '-' || round else '' end as id, stage, links
    from supplier_requests
)
select coalesce(r.id, m.made_by)
  from requests r
  full join made m on m.made_by = r.id
 where m.links <> m.found
    or coalesce(m.links, 0) <> coalesce(r.links, 0)
    or (coalesce(r.links, 0) > 0) is distinct from (r.stage in ('fulfilled', 'collected'));
