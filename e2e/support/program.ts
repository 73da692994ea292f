import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The service is met only as an operator meets it: its programs, an environment, exit codes and what they print. */
export type ProgramName = 'api' | 'worker' | 'admin' | 'migrate'

export type Settings = Readonly<Record<string, string>>

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const PROGRAM_MS_MAX = 60_000
/** Half of the short life of a command is reading its source; kept beside other leavings of test runs. */
const COMPILE_CACHE = fileURLToPath(new URL('../../.data/compile-cache', import.meta.url))
const ENDS_WITH_US = fileURLToPath(new URL('./ends-with-parent.ts', import.meta.url))

const OURS = new URL('../../service/', import.meta.url)

interface ProgramOptions {
  /** As somebody else, which only root can do. */
  readonly uid?: number | undefined
  /** The folder of another release. */
  readonly release?: URL
}

/** Runs a program to its end. */
export async function runProgram(
  name: ProgramName,
  args: readonly string[],
  settings: Settings,
  { uid, release = OURS }: ProgramOptions = {},
): Promise<Ended> {
  const child = spawnProgram(name, args, settings, { uid, release })
  const stdout = capture(child, 'stdout')
  const stderr = capture(child, 'stderr')
  const overdue = setTimeout(() => child.kill('SIGKILL'), PROGRAM_MS_MAX)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(overdue)
  return { code, stdout: stdout(), stderr: stderr() }
}

/** Nothing of our own environment reaches it but the PATH: a setting there would win over the test's. */
export function spawnProgram(
  name: ProgramName,
  args: readonly string[],
  settings: Settings,
  { uid, release = OURS }: ProgramOptions = {},
): ChildProcess {
  const program = fileURLToPath(new URL(`bin/${name}.ts`, release))
  return spawn(process.execPath, ['--import', ENDS_WITH_US, program, ...args], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...settings },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid }),
  })
}

/** Keeps what a program prints; the returned function tells all of it so far. */
export function capture(child: ChildProcess, stream: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = []
  child[stream]?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}
