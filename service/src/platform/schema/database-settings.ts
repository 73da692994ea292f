import type pg from 'pg'

/** Tables and functions are in a schema of their own: `public` is everybody's, and whatever else uses the database is there. */
export const DATABASE_SCHEMA = 'shopwire'

/**
 * Of the database rather than of roles, whose settings are not inherited, so that every session has them, whichever login and pooler it
 * comes through. Statements of ours are short: compiling one costs more than running it.
 */
const SETTINGS = {
  search_path: DATABASE_SCHEMA,
  jit: 'off',
  TimeZone: 'UTC',
  default_transaction_isolation: 'read committed',
} as const

/** For a database that was made from a template or a dump, which do not bring them along. */
export const settingsSql = (database: string) =>
  Object.entries(SETTINGS)
    .map(([name, value]) => `alter database ${database} set ${name} = '${value}'`)
    .join(';\n')

/** New sessions have them. Only the owner of the database may set them, so nothing is done where they are set already. */
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
