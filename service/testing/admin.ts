import { setTimeout as sleep } from 'node:timers/promises'
import { runAdmin } from '../src/admin/program.ts'
import type { CommandContext } from '../src/admin/terminal/command-context.ts'
import type { Terminal } from '../src/admin/terminal/terminal.ts'
import { SCHEMA } from '../src/installation.ts'
import { createReads } from '../src/operations/reads/index.ts'
import { systemClock } from '../src/platform/clock.ts'
import { schemaMismatch } from '../src/platform/schema/schema-version.ts'
import type { TestDatabase } from './database.ts'
import type { Shop } from './shop.ts'

type AdministeredShop = Pick<Shop, 'operator' | 'journal'> & {
  readonly database: Pick<TestDatabase, 'operator'>
}

/** Runs an operator's command line on this shop, inside this process. */
export const runAdminOn = (shop: AdministeredShop, ...args: string[]) => runAdminAt(undefined, shop, ...args)

/** The same for a person at a terminal. */
export async function runAdminAt(
  terminal: Terminal | undefined,
  { database, operator, journal }: AdministeredShop,
  ...args: string[]
) {
  const { operator: db } = database
  let out = ''
  let err = ''
  const context = {
    version: '1.2.3',
    reads: () => createReads(db),
    identify: async () => undefined,
    backupState: () => '/nowhere',
    certificateDays: async () => undefined,
    operator: () => operator,
    operatorOrFirst: () => ({ operator, isFirst: false }),
    longRunningReads: () => createReads(db),
    schemaMismatch: () =>
      schemaMismatch((text) => db.many({ text, values: [], name: 'schema_version' }), SCHEMA),
    isDevelopment: () => false,
    journal: () => journal,
    nowMs: systemClock.nowMs,
    pause: (ms: number) => sleep(ms),
    terminal,
    out: (text: string) => {
      out += text
    },
    err: (text: string) => {
      err += text
    },
  } as unknown as CommandContext
  const code = await runAdmin(context, args)
  return { code, out, err, json: () => JSON.parse(out) }
}
