import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { timed } from './starts.ts'

/** The service's programs, started as an operator starts them: nothing of `service/` is imported. */
export type ProgramName = 'api' | 'worker' | 'dashboard' | 'admin' | 'backup' | 'migrate'

/** Environment variables. */
export type Settings = Readonly<Record<string, string>>

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface SpawnOptions {
  /** Runs as another user, which only root can do. */
  readonly uid?: number | undefined
  /** A file descriptor that takes stdout, for a process whose output would cost the parent time to read. */
  readonly stdout?: number | undefined
  /** Options of node itself. */
  readonly nodeArgs?: readonly string[]
}

export interface ProgramOptions extends SpawnOptions {
  /** The folder of another release of the service. */
  readonly release?: URL
  /** When a program that does not end is killed. */
  readonly msMax?: number
}

export const PROGRAM_MS_MAX = 60_000
/** A short command spends half of its time compiling its source; git ignores this folder. */
export const COMPILE_CACHE = fileURLToPath(new URL('../../../.data/compile-cache', import.meta.url))
export const OPERATOR_SERVER = 'operator-server'
const THIS_RELEASE = new URL('../../../service/', import.meta.url)
/** For `node --import`: ends that process when the pipe to its stdin closes. */
export const ENDS_WITH_PARENT = fileURLToPath(new URL('./ends-with-parent.ts', import.meta.url))

/** For `node --import`: shifts the clock of that process by the milliseconds in the file TEST_CLOCK_FILE. */
export const SHIFTED_CLOCK = fileURLToPath(new URL('../../clocks/shifted-clock.ts', import.meta.url))
/** For `node --import`: what the process does once a minute or an hour it does twice a second. */
export const HURRIED_TIMERS = fileURLToPath(new URL('../../clocks/hurried-timers.ts', import.meta.url))

/** Runs a program until it exits. */
export function runProgram(
  name: ProgramName,
  args: readonly string[],
  settings: Settings,
  options?: ProgramOptions,
): Promise<Ended> {
  return timed(`shopwire-${name}`, () => run(name, args, settings, options))
}

async function run(
  name: ProgramName,
  args: readonly string[],
  settings: Settings,
  { msMax = PROGRAM_MS_MAX, ...options }: ProgramOptions = {},
): Promise<Ended> {
  const child = spawnProgram(name, args, settings, options)
  const stdout = capture(child, 'stdout')
  const stderr = capture(child, 'stderr')
  const overdue = setTimeout(() => child.kill('SIGKILL'), msMax)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(overdue)
  return { code, stdout: stdout(), stderr: stderr() }
}

export function spawnProgram(
  name: ProgramName,
  args: readonly string[],
  settings: Settings,
  { release, ...options }: ProgramOptions = {},
): ChildProcess {
  return spawnScript(fileOf(name, release), args, settings, options)
}

/** The admin program as a process that takes commands as messages; see service/testing/operator-server.ts. */
export function spawnOperatorServer(settings: Settings): ChildProcess {
  return spawn(process.execPath, ['--import', ENDS_WITH_PARENT, fileOf(OPERATOR_SERVER, undefined)], {
    env: environment(settings),
    stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
  })
}

/** The source, unless the programs of this release were bundled (bundle.ts). */
function fileOf(name: ProgramName | typeof OPERATOR_SERVER, release: URL | undefined): string {
  const bundled = process.env.SHOPWIRE_PROGRAMS
  if (bundled !== undefined && release === undefined) return join(bundled, `${name}.mjs`)
  const folder = name === OPERATOR_SERVER ? 'testing' : 'bin'
  return fileURLToPath(new URL(`${folder}/${name}.ts`, release ?? THIS_RELEASE))
}

/** Runs a file with node, in a process that ends with this one. */
export function spawnScript(
  file: string,
  args: readonly string[],
  settings: Settings,
  { uid, stdout, nodeArgs = [] }: SpawnOptions = {},
): ChildProcess {
  return spawn(process.execPath, ['--import', ENDS_WITH_PARENT, ...nodeArgs, file, ...args], {
    env: environment(settings),
    stdio: ['pipe', stdout ?? 'pipe', 'pipe'],
    ...(uid !== undefined && { uid }),
  })
}

/**
 * Of our own environment a program gets the PATH only: any other variable could override a setting of the test, and the service
 * refuses SHOPWIRE_ variables it does not know.
 */
function environment(settings: Settings): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...settings }
}

/** Collects what a process prints; the returned function gives all of it so far. */
export function capture(child: ChildProcess, stream: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = []
  child[stream]?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}
