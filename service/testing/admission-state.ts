import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { asSuperuser, type TestDatabase } from './database.ts'
import type { AdmissionKind } from './shop.ts'

/** The state of the admission store for one account, read and changed directly. */
export interface AdmissionState {
  /** How many nonces are recorded. */
  nonces(account_id: string): Promise<number>
  /** As if a minute had passed; nonces and refusals stay. */
  emptyWindows(account_id: string): Promise<void>
  /** Loses the data as a crash does. */
  loseAll(account_id: string): Promise<void>
  close(): void
}

export function admissionState(kind: AdmissionKind, { superuserUrl }: TestDatabase): AdmissionState {
  return kind === 'postgres' ? inDatabase(superuserUrl) : inRedis(kind)
}

function inDatabase(superuserUrl: string): AdmissionState {
  const run = (text: string, ...values: string[]) =>
    asSuperuser((client) => client.query(text, values), superuserUrl)
  return {
    nonces: async (account_id) =>
      (await run('select from spent_nonces where account_id = $1', account_id)).rowCount ?? 0,
    emptyWindows: async (account_id) =>
      void (await run(
        `update admission_windows set requests = '{}', orders = '{}' where account_id = $1`,
        account_id,
      )),
    loseAll: async () => void (await run('truncate spent_nonces, admission_windows')),
    close: () => {},
  }
}

function inRedis(kind: AdmissionKind): AdmissionState {
  const urls = kind === 'redis' ? [inject('redisUrl')] : inject('redisClusterUrls')
  const nodes = urls.map((url) => new Redis(url))
  const each = async (pattern: string, work: (node: Redis, names: string[]) => Promise<unknown>) => {
    for (const node of nodes) {
      const names = await node.keys(pattern)
      if (names.length > 0) await work(node, names)
    }
  }
  return {
    async nonces(account_id) {
      let count = 0
      await each(`shopwire:{${account_id}}:nonce:*`, async (_, names) => {
        count += names.length
      })
      return count
    },
    async emptyWindows(account_id) {
      for (const window of ['requests', 'orders']) {
        await each(`shopwire:{${account_id}}:${window}`, (node, names) => node.del(names))
      }
    },
    loseAll: (account_id) => each(`shopwire:{${account_id}}:*`, (node, names) => node.del(names)),
    close: () => {
      for (const node of nodes) node.disconnect()
    },
  }
}
