import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { PROCESSES } from '@shopwire/test-kit/servers'

/** Half of a start is compiling the sources; git ignores this folder. */
const COMPILE_CACHE = fileURLToPath(new URL('../../.data/compile-cache', import.meta.url))

export interface Ready {
  readonly base_url: string
  readonly url: string
  readonly account_id: string
  readonly key: { readonly id: string; readonly secret: string }
  readonly pid: number
}

export interface Program {
  readonly child: ChildProcess
  /** The first line on standard output. */
  readonly ready: Promise<Ready>
  readonly exited: Promise<number | null>
  /** What it said on standard error. */
  said(): string
}

/** Runs the emulator as a separate process with its own temporary folder, which tests inspect afterwards. */
export function startProgram(
  command: string,
  args: readonly string[],
  testFolder: TestFolder,
  cwd?: string,
): Program {
  // Removes the variables of an npm that runs these tests, and keeps Node's cache out of the temporary folder.
  const own = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'))
  const env = { ...Object.fromEntries(own), TMPDIR: testFolder.path, NODE_COMPILE_CACHE: COMPILE_CACHE }
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  child.stderr.on('data', (chunk) => {
    text += chunk
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const firstLine = once(createInterface({ input: child.stdout }), 'line').then(
    ([line]) => JSON.parse(line) as Ready,
  )
  const ready = Promise.race([
    firstLine,
    // On `close`, not `exit`: child processes may still write output.
    once(child, 'close').then(([code]): never => {
      throw new Error(`it ended with ${code}: ${text}`)
    }),
  ])
  ready.catch(() => {})
  return { child, ready, exited, said: () => text }
}

export type TestFolder = Awaited<ReturnType<typeof openTestFolder>>

/** A temporary folder that PostgreSQL can enter although it runs as another user. */
export async function openTestFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'emulator-test-'))
  await chmod(folder, 0o777)
  return {
    path: folder,
    /** Files and processes. */
    async leftovers(): Promise<string[]> {
      const commands = [...PROCESSES.commandLines().values()]
      return [...(await readdir(folder)), ...commands.filter((command) => command.includes(folder))]
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
