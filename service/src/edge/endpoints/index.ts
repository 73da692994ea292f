import type { Db } from '../../platform/db.ts'
import type { Endpoint } from '../endpoint.ts'
import { getBalance } from './balance.ts'
import { getPing } from './ping.ts'
import { getStatus } from './status.ts'

/** Every endpoint that is mounted. The scope matrix and the published contract grow with this list. */
export const allEndpoints = (db: Db): Endpoint[] => [getStatus(db), getPing(), getBalance(db)]
