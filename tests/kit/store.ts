import { randomBytes } from 'node:crypto'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AdminCommand, type Operator, operatorBy } from '@shopwire/test-kit/systems'
import { attempt, run } from './command.ts'
import type { Engine } from './engine.ts'
import { ROOT, WORK } from './root-folders.ts'

const COMMANDS_AT_ONCE = 3

/** A folder as an operator has it: copies of deploy/compose and deploy/monitoring, and what `./shopwire init` wrote there. */
export interface Store {
  readonly folder: string
  readonly engine: Engine
  /** For its commands. */
  readonly env: Readonly<Record<string, string>>
  /** The kit's own command. */
  shopwire(...args: string[]): Promise<string>
  compose(...args: string[]): Promise<string>
  /** The full id of a service's container. */
  containerOf(service: string): Promise<string>
  /** Where the container is reached from this network namespace, past the published ports. */
  addressOf(service: string): Promise<string>
  /** Runs in a container that stays: one of its own for each command takes seconds. */
  openOperator(): Promise<Operator>
  query(statement: string): Promise<string>
  /** Ends the containers and removes the volumes. */
  remove(): Promise<void>
}

/** An empty folder with the files of the kit. */
export async function newStore(
  engine: Engine,
  name: string,
  images: Readonly<Record<string, string>> = {},
): Promise<Store> {
  const parent = join(WORK, 'stores', name)
  const folder = join(parent, 'compose')
  await run('rm', ['-rf', parent])
  await mkdir(parent, { recursive: true })
  for (const part of ['compose', 'monitoring'])
    await cp(join(ROOT, 'deploy', part), join(parent, part), { recursive: true })
  const { docker } = engine
  const env = { ...engine.env, ...images }
  const shopwire = (...args: string[]) => run('./shopwire', args, { cwd: folder, env })
  const compose = (...args: string[]) => run('docker-compose', args, { cwd: folder, env })
  let token: string | undefined
  const containerOf = async (service: string) => (await compose('ps', '-q', service)).trim()
  return {
    folder,
    engine,
    env,
    shopwire,
    compose,
    containerOf,
    async addressOf(service) {
      const networks = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
      return (await docker('inspect', '--format', networks, await containerOf(service))).trim()
    },
    async openOperator() {
      const container = `${name}-operator`
      if ((await docker('ps', '-q', '--filter', `name=${container}`)).trim() === '')
        await compose('run', '-d', '--name', container, '--entrypoint', 'sleep', 'admin', 'infinity')
      // On a busy machine a command may wait longer for its connection than a server should.
      const settings = ['--env', 'SHOPWIRE_DATABASE_CONNECT_MS=30000']
      const exec = (...args: string[]) =>
        attempt('docker', ['exec', ...settings, container, 'shopwire', 'admin', ...args], { env })
      token ??= await firstOperatorToken(exec)
      settings.push('--env', `SHOPWIRE_OPERATOR_TOKEN=${token}`)
      const command: AdminCommand = {
        run: exec,
        async withFile(content, use) {
          const file = randomBytes(8).toString('hex')
          await writeFile(join(folder, 'files', file), content, { mode: 0o644 })
          try {
            return await use(`/files/${file}`)
          } finally {
            await rm(join(folder, 'files', file))
          }
        },
      }
      return operatorBy(command, COMMANDS_AT_ONCE)
    },
    query: async (statement) =>
      (
        await compose(
          'exec',
          '-T',
          'postgres',
          'psql',
          '--no-psqlrc',
          '-qAt',
          '-U',
          'postgres',
          '-d',
          'shopwire',
          '-c',
          statement,
        )
      ).trim(),
    async remove() {
      const left = (await docker('ps', '-aq', '--filter', `name=${name}-operator`)).trim()
      if (left !== '') await docker('rm', '--force', left)
      await compose('down', '--volumes', '--remove-orphans', '--timeout', '20')
    },
  }
}

/** Adds or replaces lines NAME=value of .env or settings.env. */
export async function setIn(
  store: Store,
  file: '.env' | 'settings.env',
  values: Readonly<Record<string, string>>,
) {
  const path = join(store.folder, file)
  const kept = (await readFile(path, 'utf8'))
    .split('\n')
    .filter((line) => !((line.split('=')[0] ?? '') in values) && line !== '')
  await writeFile(
    path,
    `${[...kept, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join('\n')}\n`,
  )
}

/** As the install page says: the first command adds the operator, whose token the others need. */
export async function firstOperatorToken(admin: AdminCommand['run']): Promise<string> {
  const { code, stdout, stderr } = await admin('operators', 'add', 'proof@example.com', '--json')
  if (code !== 0) throw new Error(`the first operator could not be added:\n${stderr}`)
  return (JSON.parse(stdout) as { token: string }).token
}
