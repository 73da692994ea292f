import {
  type SavedView,
  VIEW_NAME_LENGTH_MAX,
  VIEWS_PER_LIST_MAX,
  type ViewList,
  type viewRoutes,
} from '@shopwire/contract/dashboard'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { newId } from '../../platform/text/ids.ts'
import { assertPlain } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import { insertView, removeView, selectViews, updateViewName, type ViewRow } from './view-queries.ts'
import { readViewQuery } from './view-query.ts'

export interface ViewsDeps {
  readonly db: Db
  readonly act: MemberAct
}

/** Filters of lists that a person has saved for themselves. They are counted and compared in actions, of which one runs at a time. */
export const viewsArea = ({ db, act }: ViewsDeps): Area<typeof viewRoutes> => ({
  listViews: ({ member }) =>
    inAccount(db, member.account_id, async (tx) => ({ views: (await selectViews(tx, member)).map(present) })),

  async saveView({ member, body: { list, query, ...named } }) {
    const saved = readViewQuery(list, query)
    const name = nameIn(named)
    return act(member, 'view.save', async (tx, nowMs) => {
      const views = await selectViews(tx, member)
      refuseTaken(views, list, name)
      if (views.filter((one) => one.list === list).length >= VIEWS_PER_LIST_MAX)
        throw refuse(
          'conflict',
          `You have ${VIEWS_PER_LIST_MAX} views of this list, and no more fit. Delete one first.`,
        )
      const view = { id: newId('view', nowMs), list, name: name.shown, query: saved }
      const row = { ...view, folded_name: name.folded, created_at: new Date(nowMs) }
      if ((await insertView(tx, member, row)) === 0)
        throw refuse('sign_in_required', 'You do not belong to this account any more. Nothing was saved.')
      return { result: view, target: view.id, after: { list, name: view.name } }
    })
  },

  async renameView({ member, body: { id, ...named } }) {
    const name = nameIn(named)
    return act(member, 'view.rename', async (tx) => {
      const views = await selectViews(tx, member)
      const view = own(views, id)
      refuseTaken(
        views.filter((one) => one.id !== id),
        view.list,
        name,
      )
      await updateViewName(tx, member, { id, name: name.shown, folded_name: name.folded })
      const { list } = view
      return {
        result: present({ ...view, name: name.shown }),
        target: id,
        before: { list, name: view.name },
        after: { list, name: name.shown },
      }
    })
  },

  deleteView: ({ member, body: { id } }) =>
    act(member, 'view.delete', async (tx) => {
      const { list, name } = own(await selectViews(tx, member), id)
      await removeView(tx, member, id)
      return { result: { ok: true } as const, target: id, before: { list, name } }
    }),
})

interface Name {
  readonly shown: string
  /** As names are compared. */
  readonly folded: string
}

function nameIn({ name }: { readonly name: string }): Name {
  const shown = name.normalize('NFC').trim()
  assertPlain('The name of a view', shown, VIEW_NAME_LENGTH_MAX)
  return { shown, folded: shown.normalize('NFKC').toLowerCase() }
}

function refuseTaken(views: readonly ViewRow[], list: ViewList, { folded }: Name): void {
  const other = views.find((one) => one.list === list && one.folded_name === folded)
  if (other)
    throw refuse(
      'conflict',
      `You have a view "${other.name}" of this list. Choose another name, or delete that one first.`,
    )
}

function own(views: readonly ViewRow[], id: string): ViewRow {
  const view = views.find((one) => one.id === id)
  if (!view) throw refuse('not_found', 'You have no such view any more. Reload the page.')
  return view
}

const present = ({ id, list, name, query }: SavedView): SavedView => ({ id, list, name, query })
