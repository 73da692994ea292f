import { randomBytes } from 'node:crypto'
import type { ProvisionedDatabase } from '@shopwire/test-kit/servers'
import { createOperator } from '../../src/operations/operator.ts'
import { type Db, openDatabase } from '../../src/platform/database/db.ts'
import { localKeks, openKeyring } from '../../src/platform/encryption/encryption.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { createLinkVault } from '../../src/supply/gift-link.ts'

const log = createLog('silent')
const metrics = createMetrics('test')
const LOCK_MS_MAX = 10_000

export type SimulatedStore = Awaited<ReturnType<typeof openStore>>

/** What the processes of a simulated store share: its database, its keys and its time. */
export async function openStore({ processUrls }: ProvisionedDatabase, lockMsMax = LOCK_MS_MAX) {
  const worker = openLogin(processUrls.worker, lockMsMax)
  const api = openLogin(processUrls.api, lockMsMax)
  const admin = openLogin(processUrls.operator, lockMsMax)
  const keyring = openKeyring(localKeks(new Map([['test', randomBytes(32)]]), 'test'))
  let aheadMs = 0
  const clock = {
    nowMs: () => Date.now() + aheadMs,
    advance(ms: number) {
      aheadMs += ms
    },
  }
  const vault = createLinkVault(worker, keyring)
  await vault.open()
  const silent = { announce: async () => {} } as never
  const deps = { db: admin, keyring, clock, cell: 'c1', admission: async () => silent }
  const operator = createOperator(deps, 'schedules')
  return {
    api,
    worker,
    admin,
    keyring,
    vault,
    clock,
    log,
    metrics,
    operator,
    close: async () => void (await Promise.all([worker.close(), api.close(), admin.close()])),
  }
}

function openLogin(url: string, lockMsMax: number): Db {
  return openDatabase(
    {
      url,
      application_name: 'schedules',
      connectionsMax: 6,
      connectMsMax: 30_000,
      statementMsMax: 30_000,
      lockMsMax,
      namedStatements: true,
    },
    () => {},
  )
}
