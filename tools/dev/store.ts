import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endWithParent, type ProvisionedDatabase } from '@shopwire/test-kit/servers'
import type { DemoHistory } from '../demo/history.ts'
import { LANTERN } from '../demo/lantern-games.ts'
import { newLinks } from '../demo/world.ts'
import type { Say } from './programs.ts'

export type Settings = Readonly<Record<string, string>>

/** A key with which a developer can call the API at once. */
export interface DemoKey {
  readonly account_id: string
  readonly key: string
  readonly secret: string
}

/** Links per item that is not delivered by hand. */
const POOL_MIN = 20
const PROGRESS_EVERY = 10

/** What is in the data folder beside the database. */
export function storeFiles(folder: string) {
  const path = (name: string) => join(folder, name)
  const historyFile = path('demo-history.json')
  const keyFile = (account: string) =>
    path(account === LANTERN.name ? 'demo.env' : `demo-${slug(account)}.env`)
  const write = async (file: string, text: string) => {
    await writeFile(file, text)
    await chmod(file, 0o600)
  }
  return {
    postgres: path('postgres'),
    mail: path('mail.jsonl'),
    events: path('webhooks.jsonl'),
    /** The public status page. */
    status: resolve(path('status')),
    key: keyFile(LANTERN.name),
    settings: path('store.env'),

    /** `unfinished` when an earlier start was interrupted while it was made. */
    async readHistory(): Promise<DemoHistory | 'unfinished' | undefined> {
      const text = await readFile(historyFile, 'utf8').catch(() => undefined)
      if (text === undefined) return undefined
      return text === '' ? 'unfinished' : (JSON.parse(text) as DemoHistory)
    },
    writeHistory: (history: DemoHistory | 'unfinished') =>
      write(historyFile, history === 'unfinished' ? '' : JSON.stringify(history)),

    /** Settings with which a developer can run shopwire-admin on this store. */
    writeSettings(env: Settings): Promise<void> {
      const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`)
      const title = '# Written by "npm run dev": the settings of the private store.'
      return write(path('store.env'), `${title}\n${lines.join('\n')}\n`)
    },

    async readKey(account: string): Promise<DemoKey | undefined> {
      const text = await readFile(keyFile(account), 'utf8').catch(() => '')
      const value = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(text)?.[1]
      const [account_id, key] = [value('SHOPWIRE_ACCOUNT'), value('SHOPWIRE_API_KEY')]
      const secret = value('SHOPWIRE_API_SECRET')
      return account_id && key && secret ? { account_id, key, secret } : undefined
    },
    writeKey: (account: string, { account_id, key, secret }: DemoKey, port: number) =>
      write(
        keyFile(account),
        [
          '# Written by "npm run dev": a key of a demo account in the private development database.',
          `SHOPWIRE_ACCOUNT=${account_id}`,
          `SHOPWIRE_API_KEY=${key}`,
          `SHOPWIRE_API_SECRET=${secret}`,
          `SHOPWIRE_BASE_URL=http://127.0.0.1:${port}/v1\n`,
        ].join('\n'),
      ),

    async removeAll(): Promise<void> {
      const names = [
        'postgres',
        'demo-history.json',
        'demo.env',
        'demo-kestrel.env',
        'mail.jsonl',
        'webhooks.jsonl',
        'status',
      ]
      await Promise.all(names.map((name) => rm(path(name), { recursive: true, force: true })))
    },
  }
}

/** `Kestrel Community` → `kestrel` */
const slug = (account: string) => account.split(' ')[0]?.toLowerCase() ?? ''

export function runAdmin(env: Settings, args: readonly string[], input = ''): Record<string, unknown> {
  const command = ['service/bin/admin.ts', ...args, '--json']
  try {
    const options = { env: { ...process.env, ...env }, input, encoding: 'utf8', stdio: 'pipe' } as const
    return JSON.parse(execFileSync(process.execPath, command, options)) as Record<string, unknown>
  } catch (error) {
    throw new Error(
      `shopwire-admin ${args.join(' ')} failed: ${(error as { stderr?: string }).stderr ?? error}`,
    )
  }
}

/** Runs tools/demo/make.ts on the empty store. */
export async function makeDemo(
  env: Settings,
  { processUrls }: ProvisionedDatabase,
  urls: { readonly lantern: string; readonly kestrel: string },
  say: Say,
): Promise<DemoHistory> {
  const program = fileURLToPath(new URL('../demo/make.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    [program, '--lantern-webhook', urls.lantern, '--kestrel-webhook', urls.kestrel],
    {
      env: {
        ...process.env,
        ...env,
        DEMO_API_DATABASE_URL: processUrls.api,
        DEMO_WORKER_DATABASE_URL: processUrls.worker,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  // Ends also when this process is killed.
  void endWithParent(child, 'SIGTERM')
  const printed: string[] = []
  const complaints: string[] = []
  let nextPercent = PROGRESS_EVERY
  createInterface({ input: child.stdout }).on('line', (line) => printed.push(line))
  createInterface({ input: child.stderr }).on('line', (line) => {
    const percent = Number(/^(\d+) %$/.exec(line)?.[1] ?? Number.NaN)
    if (Number.isNaN(percent)) complaints.push(line)
    else if (percent >= nextPercent) {
      say(`  making the demo accounts and their history: ${percent} %`)
      nextPercent = percent + PROGRESS_EVERY
    }
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The demo could not be made:\n${complaints.join('\n')}`)
  return JSON.parse(printed.at(-1) ?? '') as DemoHistory
}

/** The key of an earlier start, or a new one of the account with this name. */
export async function demoKey(
  env: Settings,
  files: ReturnType<typeof storeFiles>,
  account: string,
): Promise<DemoKey> {
  const known = await files.readKey(account)
  if (known && isLive(env, known)) return known
  const { accounts } = runAdmin(env, ['accounts', 'list']) as { accounts: { id: string; name: string }[] }
  const account_id = accounts.find(({ name }) => name === account)?.id ?? ''
  const made = runAdmin(env, ['keys', 'create', account_id, '--name', 'npm run dev', '--scopes', 'all'])
  return { account_id, key: String((made.key as { id: string }).id), secret: String(made.secret) }
}

function isLive(env: Settings, { account_id, key }: DemoKey): boolean {
  try {
    const { keys } = runAdmin(env, ['keys', 'list', account_id]) as {
      keys: { id: string; revoked_at: string | null }[]
    }
    return keys.some(({ id, revoked_at }) => id === key && revoked_at === null)
  } catch {
    return false
  }
}

/** Pools that were bought empty are filled again. */
export function refillPools(env: Settings): void {
  const { pools } = runAdmin(env, ['pool', 'levels']) as { pools: { item_id: string; pool_left: number }[] }
  for (const { item_id, pool_left } of pools) {
    if (pool_left >= POOL_MIN / 2) continue
    runAdmin(env, ['pool', 'load', item_id, '-'], newLinks(POOL_MIN - pool_left).join('\n'))
  }
}
