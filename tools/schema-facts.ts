import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { findPostgres, provisionDatabase, startPostgres } from '@shopwire/test-kit/servers'

/**
 * Prints what the catalogue says about a new database, one sorted line for each fact: `node tools/schema-facts.ts > facts.txt`. Two such
 * files show what a change of the files in service/schema does and does not change, whatever the order of columns and statements.
 */
const FACTS = String.raw`
with tables as (
  select c.oid, c.relname as name, c.relpersistence, c.relrowsecurity, c.reloptions, c.relacl, c.relowner
    from pg_class c
   where c.relnamespace = 'shopwire'::regnamespace and c.relkind in ('r', 'p', 'v')
), functions as (
  select p.oid, p.oid::regprocedure::text as name, p.prosrc, p.proconfig, p.prosecdef, p.provolatile, p.proparallel, p.proisstrict,
         p.proleakproof, p.proacl, p.proowner, pg_get_function_result(p.oid) as result, l.lanname,
         pg_get_function_arguments(p.oid) as arguments
    from pg_proc p
    join pg_language l on l.oid = p.prolang
   where p.pronamespace = 'shopwire'::regnamespace
), rights as (
  select 'table' as kind, t.name, a.grantee, a.privilege_type, t.relowner as owner
    from tables t cross join aclexplode(coalesce(t.relacl, acldefault('r', t.relowner))) a
  union all
  select 'column', t.name || '.' || c.attname, a.grantee, a.privilege_type, t.relowner
    from tables t join pg_attribute c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped cross join aclexplode(c.attacl) a
  union all
  select 'function', f.name, a.grantee, a.privilege_type, f.proowner
    from functions f cross join aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
  union all
  select 'schema', s.nspname, a.grantee, a.privilege_type, s.nspowner
    from pg_namespace s cross join aclexplode(coalesce(s.nspacl, acldefault('n', s.nspowner))) a where s.nspname = 'shopwire'
  union all
  select 'database', 'this one', a.grantee, a.privilege_type, d.datdba
    from pg_database d cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a where d.datname = current_database()
)
select regexp_replace(fact, '\s+', ' ', 'g')
  from (
select 'table ' || name || ': ' || relpersistence::text || case when relrowsecurity then ', row-level security' else '' end ||
       coalesce(', ' || (select string_agg(o, ', ' order by o) from unnest(reloptions) o), '') as fact
  from tables
union all
select 'column ' || t.name || '.' || c.attname || ': ' || format_type(c.atttypid, c.atttypmod) ||
       case when c.attnotnull then ' not null' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') ||
       case when c.attcollation <> y.typcollation then ' collate ' || c.attcollation::regcollation::text else '' end ||
       case when c.attstorage <> y.typstorage then ' storage ' || c.attstorage::text else '' end
  from tables t
  join pg_attribute c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped
  join pg_type y on y.oid = c.atttypid
  left join pg_attrdef d on d.adrelid = t.oid and d.adnum = c.attnum
union all
select 'constraint ' || t.name || ' ' || k.conname || ': ' || pg_get_constraintdef(k.oid) || case when k.convalidated then '' else ' not valid' end
  from tables t join pg_constraint k on k.conrelid = t.oid
union all
select 'index ' || pg_get_indexdef(i.indexrelid) || case when i.indisvalid then '' else ' invalid' end
  from tables t join pg_index i on i.indrelid = t.oid
union all
select 'trigger ' || pg_get_triggerdef(g.oid)
  from tables t join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
union all
-- Without a check of its own a policy checks new rows by what it shows.
select 'policy ' || tablename || ' ' || policyname || ': ' || permissive || ' ' || cmd || ' to ' || role || ' using ' || coalesce(qual, 'nothing') ||
       ' check ' || coalesce(with_check, qual, 'nothing')
  from pg_policies cross join unnest(roles) role
 where schemaname = 'shopwire'
union all
select 'function ' || name || ': (' || arguments || ') returns ' || result || ', ' || lanname || ', ' || provolatile::text ||
       proparallel::text || ', of ' || pg_get_userbyid(proowner) || case when prosecdef then ', security definer' else '' end ||
       case when proisstrict then ', strict' else '' end || coalesce(', ' || array_to_string(proconfig, '; '), '') || ', body ' || md5(prosrc)
  from functions
union all
select 'right on ' || kind || ' ' || name || ': ' || case grantee when 0 then 'public' else pg_get_userbyid(grantee) end || ' ' || privilege_type
  from rights
 where grantee <> owner
union all
select 'rows of ' || t.name || ': ' || (xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || quote_ident(t.name), false, true, '')))[1]::text
  from tables t
 where t.name not in ('schema_migrations', 'schema_functions')
) facts
 order by 1`

const postgres = await startPostgres()
try {
  const { ownerUrl } = await provisionDatabase(postgres, 'facts')
  const env = { ...process.env, SHOPWIRE_ENV: 'development', SHOPWIRE_DATABASE_OWNER_URL: ownerUrl }
  execFileSync(process.execPath, ['service/bin/migrate.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const url = new URL(postgres.superuserUrl)
  url.pathname = '/facts'
  const args = [url.href, '--no-psqlrc', '--no-align', '--tuples-only', '--command', FACTS]
  process.stdout.write(execFileSync(join(findPostgres(), 'psql'), args, { encoding: 'utf8' }))
} finally {
  await postgres.stop()
}
