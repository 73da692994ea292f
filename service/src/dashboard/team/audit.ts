import type { auditRoutes, AuditRow as ShownRow } from '@shopwire/contract/dashboard'
import { inAccount } from '../../platform/database/account-scope.ts'
import { type Db, type Queryable, sql } from '../../platform/database/db.ts'
import type { Area } from '../area.ts'

const ROWS_DEFAULT = 50
const PERSON = 'person:'
/** How operators and the store itself appear to an account, which must not see their names. */
const STORE_NAME = 'Shopwire'

interface Filter {
  readonly before: string | null
  readonly after: string | null
  readonly actor: string | null
  readonly action: string | null
  readonly target: string | null
  readonly limit: number
}

interface StoredRow {
  readonly id: string
  readonly at: Date
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly address: string | null
  readonly request_id: string | null
  readonly details: { readonly name?: string; readonly before?: object; readonly after?: object }
}

/** What was done in the account, by whom, from where, newest first. */
export function auditArea({ db }: { readonly db: Db }): Area<typeof auditRoutes> {
  return {
    listAudit: ({ member, query }) =>
      inAccount(db, member.account_id, async (tx) => {
        const limit = query.limit ?? ROWS_DEFAULT
        const isBack = query.after !== undefined
        // One row more than requested shows whether there is another page.
        const found = await selectRows(tx, member.account_id, {
          before: isBack ? null : (query.before ?? null),
          after: query.after ?? null,
          actor: query.person_id === undefined ? null : `${PERSON}${query.person_id}`,
          action: query.action ?? null,
          target: query.target ?? null,
          limit: limit + 1,
        })
        const rows = found.slice(0, limit)
        if (isBack) rows.reverse()
        const isMore = found.length > limit
        const hasNext = isBack || isMore
        const hasPrevious = isBack ? isMore : query.before !== undefined
        return {
          rows: rows.map(shown),
          next: hasNext ? (rows.at(-1)?.id ?? null) : null,
          previous: hasPrevious ? (rows[0]?.id ?? null) : null,
        }
      }),
  }
}

function selectRows(tx: Queryable, account_id: string, filter: Filter): Promise<StoredRow[]> {
  const { before, after, actor, action, target, limit } = filter
  // Backwards from a cursor the nearest rows come first.
  if (after !== null)
    return tx.many<StoredRow>(sql`
      select id, at, actor, action, target, address, request_id, details
        from audit_log
       where account_id = ${account_id}
         and id > ${after}
         and (${actor}::text is null or actor = ${actor})
         and (${action}::text is null or action = ${action} or starts_with(action, ${action} || '.'))
         and (${target}::text is null or target = ${target})
       order by id
       limit ${limit}`)
  return tx.many<StoredRow>(sql`
    select id, at, actor, action, target, address, request_id, details
      from audit_log
     where account_id = ${account_id}
       and (${before}::text is null or id < ${before})
       and (${actor}::text is null or actor = ${actor})
       and (${action}::text is null or action = ${action} or starts_with(action, ${action} || '.'))
       and (${target}::text is null or target = ${target})
     order by id desc
     limit ${limit}`)
}

function shown({ id, at, actor, action, target, address, request_id, details }: StoredRow): ShownRow {
  const person_id = actor.startsWith(PERSON) ? actor.slice(PERSON.length) : null
  return {
    id,
    at: at.toISOString(),
    person_id,
    actor_name: person_id === null ? STORE_NAME : (details.name ?? 'Somebody'),
    action,
    target,
    address,
    request_id,
    before: (details.before as Record<string, unknown>) ?? null,
    after: (details.after as Record<string, unknown>) ?? null,
  }
}
