import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Key } from '../requests/signed-request.ts'
import type { Item } from './goods.ts'
import { limitConcurrency } from './programs/limit-concurrency.ts'
import { createOperatorServer, type OperatorServer } from './programs/operator-server.ts'
import { type Ended, runProgram, type Settings } from './programs/program.ts'

/** What the owner of a store does, each with the admin command. */
export interface Operator {
  /** Runs the command with --json as `runCommand` does; fails when its exit code is not 0. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints an object of its own
  admin(...args: string[]): Promise<any>
  /** Runs the command, whatever its exit code, in a process that stays for the next one. */
  runCommand(...args: string[]): Promise<Ended>
  /** Starts the program itself, for tests of it and of its environment. */
  runAdmin(...args: string[]): Promise<Ended>
  createAccount(options?: AccountOptions): Promise<{ account_id: string; key: Key }>
  createKey(account_id: string, scopes?: string): Promise<Key>
  fund(account_id: string, cents: number): Promise<void>
  /** Items that are not in the list stay as they are. */
  importItems(items: readonly Item[]): Promise<void>
  loadPool(item_id: string, links: readonly string[]): Promise<void>
  /** Ends the process that stays. It ends with this process at the latest. */
  closeOperator(): Promise<void>
}

export interface AccountOptions {
  readonly name?: string
  /** Of its key: scope names, or a set of them such as `all`. */
  readonly scopes?: string
  readonly balanceCents?: number
}

/** Where the admin command runs, and how a file gets there. */
export interface AdminCommand {
  run(...args: string[]): Promise<Ended>
  /** Where the program need not be started for each command. */
  readonly server?: OperatorServer
  /** Calls `use` with the path under which the command finds the content. */
  withFile<Result>(content: string, use: (path: string) => Promise<Result>): Promise<Result>
}

/** Tests change prices as they like. */
const ANY_PRICE = ['--price-factor-max', '1000000', '--price-share-max', '100']

export function createOperator(settings: () => Settings): Operator {
  const server = createOperatorServer(settings)
  return operatorBy({ run: (...args) => runProgram('admin', args, settings()), server, withFile })
}

/** `commandsMax`: how many starts of the program run at a time; the others wait. */
export function operatorBy(
  { run, server, withFile }: AdminCommand,
  commandsMax = Number.POSITIVE_INFINITY,
): Operator {
  const runAdmin = limitConcurrency(commandsMax, run)
  const runCommand = server?.run ?? runAdmin
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand('--json', ...args)
    if (code !== 0) throw new Error(`shopwire-admin ${args.join(' ')} ended with ${code}:\n${stderr}`)
    return JSON.parse(stdout)
  }
  const createKey = async (account_id: string, scopes = 'all'): Promise<Key> => {
    const { key, secret } = await admin('keys', 'create', account_id, '--name', 'test', '--scopes', scopes)
    return { id: key.id, secret }
  }
  const fund = async (account_id: string, cents: number) => {
    const reference = `test-${randomBytes(8).toString('hex')}`
    await admin('accounts', 'fund', account_id, dollars(cents), '--reference', reference)
  }
  return {
    admin,
    runCommand,
    runAdmin,
    closeOperator: async () => server?.close(),
    createKey,
    fund,
    async createAccount({ name = 'Test', scopes = 'all', balanceCents = 0 } = {}) {
      const { id: account_id } = await admin('accounts', 'create', name)
      if (balanceCents > 0) await fund(account_id, balanceCents)
      return { account_id, key: await createKey(account_id, scopes) }
    },
    importItems: (items) =>
      withFile(JSON.stringify(items), (path) =>
        admin('catalogue', 'import', path, '--partial', '--yes', ...ANY_PRICE),
      ),
    loadPool: (item_id, links) =>
      withFile(`${links.join('\n')}\n`, (path) => admin('pool', 'load', item_id, path)),
  }
}

/** As the admin command reads amounts. */
export function dollars(cents: number): string {
  return (cents / 100).toFixed(2)
}

async function withFile<Result>(content: string, use: (path: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-file-'))
  try {
    const path = join(folder, 'input')
    await writeFile(path, content)
    return await use(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
