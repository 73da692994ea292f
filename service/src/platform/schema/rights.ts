/**
 * The rights of one database role, from a file in service/schema/rights: one line for each table, and one with the functions it may
 * call.
 */
export interface Rights {
  readonly role: string
  /** By table and action: the columns, or true for the whole table. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<Action, true | readonly string[]>>
  readonly functions: readonly string[]
}

export type Action = 'select' | 'insert' | 'update' | 'delete' | 'truncate'

const RIGHT = /(select|insert|update|delete|truncate)(?: \(([^)]*)\))?(?:, |$)/gy

export function parseRights(name: string, text: string): Rights {
  const tables = new Map<string, Map<Action, true | readonly string[]>>()
  const [role, functions] = ['role: ', 'call: '].map((key) =>
    text
      .split('\n')
      .find((line) => line.startsWith(key))
      ?.slice(key.length),
  )
  for (const line of text.split('\n')) {
    if (line === '' || /^(#|role: |call: )/.test(line)) continue
    const [, table = '', rights = ''] = /^(\w+) +(.*)$/.exec(line) ?? []
    const found = [...rights.matchAll(RIGHT)]
    if (found.map(([all]) => all).join('') !== rights || rights === '')
      throw new Error(`rights/${name} has a line that cannot be read: ${line}`)
    tables.set(
      table,
      new Map(found.map(([, action, columns]) => [action as Action, columns?.split(', ') ?? true])),
    )
  }
  if (role === undefined) throw new Error(`rights/${name} does not say whose rights they are: "role: …".`)
  return { role, tables, functions: functions?.split(', ') ?? [] }
}

/** Grants the roles what is in their files, and revokes everything else. */
export function rightsSql(all: readonly Rights[]): string {
  const roles = all.map(({ role }) => role)
  return [
    revokeAll(roles),
    `grant usage on schema shopwire to ${roles.join(', ')}`,
    ...all.flatMap(({ role, tables, functions }) => [
      ...[...tables].map(([table, actions]) => `grant ${describe(actions)} on ${table} to ${role}`),
      ...(functions.length > 0 ? [`grant execute on function ${functions.join(', ')} to ${role}`] : []),
    ]),
  ].join(';\n')
}

function describe(actions: ReadonlyMap<Action, true | readonly string[]>): string {
  return [...actions]
    .map(([action, columns]) => (columns === true ? action : `${action} (${columns.join(', ')})`))
    .join(', ')
}

/** Only for objects that the migrating role owns: an extension may have put its own tables and functions into the same schema. */
const revokeAll = (roles: readonly string[]) => `
do $$
declare
  c_roles constant text := '${roles.join(', ')}';
  v_object text;
  v_others text;
begin
  execute format('revoke create, temporary on database %I from public', current_database());
  execute format('grant connect on database %I to %s', current_database(), c_roles);
  for v_object in
    select c.oid::regclass::text
      from pg_class c
     where c.relnamespace = 'shopwire'::regnamespace
       and c.relkind in ('r', 'p', 'v')
       and pg_has_role(c.relowner, 'usage')
  loop
    execute format('revoke all on %s from %s', v_object, c_roles);
  end loop;
  -- An owner keeps the right to call what it owns.
  for v_object, v_others in
    select p.oid::regprocedure::text, string_agg(r.rolname, ', ')
      from pg_proc p
      join pg_roles r on r.rolname = any (string_to_array(c_roles, ', ')) and r.oid <> p.proowner
     where p.pronamespace = 'shopwire'::regnamespace
       and pg_has_role(p.proowner, 'usage')
     group by p.oid
  loop
    execute format('revoke all on function %s from %s', v_object, v_others);
  end loop;
end
$$`
