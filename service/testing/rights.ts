import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROLES = {
  api: 'shopwire_api_rights',
  worker: 'shopwire_worker_rights',
  operator: 'shopwire_operator_rights',
  dashboard: 'shopwire_dashboard',
  readonly: 'shopwire_readonly_rights',
  functions: 'shopwire_functions',
} as const
export type RoleName = keyof typeof ROLES

const ACTIONS = ['select', 'insert', 'update', 'delete'] as const
export type Action = (typeof ACTIONS)[number]

interface Rights {
  /** By table and action: the columns, or true for the whole table. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<Action, true | readonly string[]>>
  readonly functions: ReadonlySet<string>
}

const RIGHT = /(select|insert|update|delete)(?: \(([^)]*)\))?(?:, |$)/gy

/** What a role may do, from service/rights. */
export function readRights(role: RoleName): Rights {
  const text = readFileSync(join(import.meta.dirname, '../rights', `${role}.txt`), 'utf8')
  const tables = new Map<string, Map<Action, true | readonly string[]>>()
  let functions = new Set<string>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    if (line.startsWith('call: ')) {
      functions = new Set(line.slice('call: '.length).split(', '))
      continue
    }
    const [, table = '', rights = ''] = /^(\w+) +(.*)$/.exec(line) ?? []
    const found = [...rights.matchAll(RIGHT)]
    if (found.map(([all]) => all).join('') !== rights || rights === '')
      throw new Error(`rights/${role}.txt has a line that cannot be read: ${line}`)
    tables.set(
      table,
      new Map(found.map(([, action, columns]) => [action as Action, columns?.split(', ') ?? true])),
    )
  }
  return { tables, functions }
}
