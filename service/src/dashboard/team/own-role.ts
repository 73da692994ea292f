import { type Queryable, sql } from '../../platform/database/db.ts'

/** Refuses a login that could do more than the dashboard may: row-level security would then protect nothing. */
export async function assertOwnRole(db: Queryable): Promise<void> {
  const { name, is_too_powerful } = await db.one<{ name: string; is_too_powerful: boolean }>(sql`
    select r.rolname as name,
           r.rolsuper or r.rolbypassrls or has_table_privilege(r.oid, 'transfers', 'insert')
             or has_column_privilege(r.oid, 'api_keys', 'secret_sealed', 'select') as is_too_powerful
      from pg_roles r
     where r.rolname = current_user`)
  if (is_too_powerful) {
    throw new Error(
      `SHOPWIRE_DASHBOARD_DATABASE_URL signs in as ${name}, which can move money or read every account. ` +
        'Give the dashboard a separate login that is a member of shopwire_dashboard and of nothing else.',
    )
  }
}
