import type pg from 'pg'

/** Tables and functions are in their own schema: `public` may be used by anything else in this database. */
export const DATABASE_SCHEMA = 'shopwire'

/**
 * Set on the database rather than on roles, because members do not inherit a role's settings. So every session has them, whatever
 * its login and pooler. Our statements are short: compiling one would cost more than running it.
 */
const SETTINGS = {
  search_path: DATABASE_SCHEMA,
  jit: 'off',
  TimeZone: 'UTC',
  default_transaction_isolation: 'read committed',
} as const

/** For a database made from a template or a dump, which do not include these settings. */
export const settingsSql = (database: string) =>
  Object.entries(SETTINGS)
    .map(([name, value]) => `alter database ${database} set ${name} = '${value}'`)
    .join(';\n')

/** They apply to new sessions. Only the owner of the database may set them, so nothing is done where they are set already. */
export async function keepSettings(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; settings: string[] | null }>(`
    select quote_ident(d.datname) as name, s.setconfig as settings
      from pg_database d
      left join pg_db_role_setting s on s.setdatabase = d.oid and s.setrole = 0
     where d.datname = current_database()`)
  const { name = '', settings } = rows[0] ?? {}
  if (Object.entries(SETTINGS).every(([key, value]) => settings?.includes(`${key}=${value}`))) return
  await client.query(settingsSql(name))
}
