import type { SavedView, ViewList } from '@shopwire/contract/dashboard'
import { type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import type { Member } from '../member.ts'

export interface ViewRow extends SavedView {
  readonly folded_name: string
}

type Whose = Pick<Member, 'account_id' | 'person_id'>

/** Of one person, by list and name. */
export const selectViews = (db: Queryable, { account_id, person_id }: Whose) =>
  db.many<ViewRow>(sql`
    select id, list, name, folded_name, query
      from saved_views
     where account_id = ${account_id}
       and person_id = ${person_id}
     order by list, folded_name`)

/** 0: the person is no longer a member. */
export const insertView = (
  tx: Tx,
  { account_id, person_id }: Whose,
  view: { id: string; list: ViewList; name: string; folded_name: string; query: string; created_at: Date },
) =>
  tx.run(sql`
    insert into saved_views (account_id, id, person_id, list, name, folded_name, query, created_at)
    select account_id, ${view.id}, person_id, ${view.list}, ${view.name}, ${view.folded_name}, ${view.query}, ${view.created_at}
      from memberships
     where account_id = ${account_id}
       and person_id = ${person_id}`)

export const updateViewName = (
  tx: Tx,
  { account_id, person_id }: Whose,
  { id, name, folded_name }: Pick<ViewRow, 'id' | 'name' | 'folded_name'>,
) =>
  tx.run(sql`
    update saved_views
       set name = ${name},
           folded_name = ${folded_name}
     where account_id = ${account_id}
       and person_id = ${person_id}
       and id = ${id}`)

export const removeView = (tx: Tx, { account_id, person_id }: Whose, id: string) =>
  tx.run(sql`
    delete from saved_views
     where account_id = ${account_id}
       and person_id = ${person_id}
       and id = ${id}`)
