import {
  confirmDatabase,
  type DatabaseState,
  nameIdentity,
  readDatabaseState,
} from '../platform/database-identity.ts'
import type { Db } from '../platform/db.ts'
import { refuse } from '../platform/trouble.ts'
import type { Act } from './act.ts'

export function databaseActions(db: Db, actor: string, act: Act) {
  return {
    /** The identity is required, so that nobody confirms a database without having looked at it. */
    async confirmDatabase(identity: string): Promise<{ state: DatabaseState; isNew: boolean }> {
      const state = await readDatabaseState(db)
      const present = nameIdentity(state.present)
      if (identity !== present) {
        throw refuse(
          'invalid_request',
          `This database is ${present}, not ${identity}. Look at "database status", then confirm that one.`,
        )
      }
      if (state.present.timeline === null)
        throw refuse('invalid_request', 'This server is a standby. Promote it, or point to its primary.')
      if (state.is_confirmed) return { state, isNew: false }
      return act('database.confirm', async (tx, nowMs) => {
        await confirmDatabase(tx, state.present, actor, nowMs)
        const details = { before: nameIdentity(state.recorded), after: present }
        return { result: { state: await readDatabaseState(tx), isNew: true }, target: 'database', details }
      })
    },
  }
}
