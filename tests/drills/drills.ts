import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newEncryptionKey } from '@shopwire/test-kit/systems'
import type { Monitoring } from './monitoring.ts'
import type { Store } from './store.ts'

/** One fault: how it is caused, and what the runbook's own commands cannot do in a drill. */
export interface Drill {
  readonly name: string
  readonly alert: string
  /** Those of one wave do not disturb each other and run together; the waves follow each other. */
  readonly wave: number
  /** Returns variables of the runbook's commands. Goes on in the background until the signal says that the alert has come. */
  cause(store: Store, monitoring: Monitoring, fired: AbortSignal): Promise<Record<string, string> | undefined>
  /** Before the runbook's commands: the part that somebody else repairs. */
  fix?(store: Store, monitoring: Monitoring, variables: Record<string, string>): Promise<unknown>
  /** Traffic after the repair, until the alert has ended. */
  traffic?(store: Store, variables: Record<string, string>): Promise<unknown>
}

const DAY_S = 86_400
const PAUSE_MS = 250

export const DRILLS: readonly Drill[] = [
  {
    name: 'oldest order over 60 s',
    alert: 'ShopwireOrderWaiting',
    wave: 1,
    async cause(store) {
      const goods = await store.newItem(1)
      await store.order(goods.ITEM, 2)
      return goods
    },
  },
  {
    name: 'pool low',
    alert: 'ShopwirePoolLow',
    wave: 1,
    async cause({ newItem, system }) {
      const goods = await newItem(3)
      await system.admin('supply', 'set', goods.ITEM, '--warn-below', '5')
      return goods
    },
  },
  {
    name: 'webhooks failing',
    alert: 'ShopwireWebhooksFailing',
    wave: 1,
    async cause(store, _monitoring, fired) {
      const goods = await store.newItem(2_000)
      store.receiverFails(true)
      void buyUntil(store, goods.ITEM, fired)
      return goods
    },
    fix: async ({ receiverFails }) => receiverFails(false),
    traffic: ({ order }, { ITEM = '' }) => order(ITEM),
  },
  {
    name: 'disk at 90 %',
    alert: 'ShopwireDiskFilling',
    wave: 1,
    cause: async ({ disk }) => fill(disk, 'old-dump', 0.93),
    fix: ({ disk }) => rm(join(disk, 'old-dump')),
  },
  {
    name: 'clock off',
    alert: 'ShopwireClockOff',
    wave: 1,
    cause: async ({ setClock }) => void (await setClock(600_000)),
  },
  {
    name: 'replication lag',
    alert: 'ShopwireReplicationLag',
    wave: 1,
    cause: async ({ onStandby }) => void (await onStandby('select pg_wal_replay_pause()')),
  },
  {
    name: 'backup stale',
    alert: 'ShopwireBackupStale',
    wave: 1,
    cause: async (_store, monitoring) => void (await writeBackups(monitoring, 2 * DAY_S, DAY_S)),
    fix: (_store, monitoring) => writeBackups(monitoring, 0, 0),
  },
  {
    name: 'certificate expiring',
    alert: 'ShopwireCertificateExpiring',
    wave: 1,
    cause: async ({ certificateFor }) => void (await certificateFor(5)),
  },
  {
    name: 'restore test stale',
    alert: 'ShopwireRestoreTestStale',
    wave: 2,
    cause: async (_store, monitoring) => void (await writeBackups(monitoring, 0, 8 * DAY_S)),
    fix: (_store, monitoring) => writeBackups(monitoring, 0, 0),
  },
  {
    name: 'ledger rule broken',
    alert: 'ShopwireLedgerRuleBroken',
    wave: 2,
    async cause({ system, account_id }) {
      await system.query(
        `update balances set balance_cents = balance_cents + 1 where account_id = '${account_id}'`,
      )
      // As a timer does.
      await system.runAdmin('verify')
      return undefined
    },
    fix: ({ system, account_id }) =>
      system.query(
        `update balances set balance_cents = balance_cents - 1 where account_id = '${account_id}'`,
      ),
  },
  {
    name: 'worker dead',
    alert: 'ShopwireNoWorker',
    wave: 3,
    cause: async ({ worker }) => void (await worker.kill('SIGKILL')),
  },
  {
    name: 'wrong encryption key',
    alert: 'ShopwireProcessDown',
    wave: 4,
    async cause({ worker, keysFile }) {
      await writeFile(keysFile, newEncryptionKey('e2e'))
      await worker.kill('SIGTERM')
      await worker.start().catch(() => undefined)
      if (worker.pid() !== undefined) throw new Error('the worker started with a wrong key')
      return undefined
    },
  },
  {
    name: 'disk full',
    alert: 'ShopwireDiskFull',
    wave: 5,
    cause: async ({ disk }) => fill(disk, 'ballast', 1),
  },
  {
    name: 'error budget burning',
    alert: 'ShopwireApiBudgetBurning',
    wave: 6,
    async cause({ system, ping }, _monitoring, fired) {
      await system.postgres.kill9()
      void (async () => {
        while (!fired.aborted) await Promise.all([ping(), sleep(PAUSE_MS)])
      })()
      return undefined
    },
    traffic: ({ ping }) => Promise.all(Array.from({ length: 50 }, ping)),
  },
]

/** The file that the backups write for node_exporter; ages in seconds. */
export function writeBackups({ textfiles }: Monitoring, backupAgeS: number, testAgeS: number): Promise<void> {
  const line = (name: string, ageS: number) => `# TYPE ${name} gauge\n${name} ${Date.now() / 1000 - ageS}\n`
  return writeFile(
    join(textfiles, 'shopwire_backup.prom'),
    line('shopwire_backup_last_success_timestamp_seconds', backupAgeS) +
      line('shopwire_restore_test_last_success_timestamp_seconds', testAgeS),
  )
}

async function buyUntil({ order }: Store, item: string, end: AbortSignal): Promise<void> {
  while (!end.aborted) await Promise.all([order(item), sleep(PAUSE_MS)])
}

async function fill(disk: string, name: string, share: number): Promise<undefined> {
  const { blocks, bavail, bsize } = await statfs(disk)
  const wanted = Math.floor((bavail - blocks * (1 - share)) * bsize)
  const block = Buffer.alloc(1 << 20, 1)
  try {
    for (let written = 0; written < wanted; written += block.length)
      await writeFile(join(disk, name), block, { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}
