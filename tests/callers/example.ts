import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { capture, ENDS_WITH_PARENT } from '@shopwire/test-kit/systems'
import { onTestFinished } from 'vitest'

export const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))

export interface ExampleOptions {
  readonly env: Readonly<Record<string, string>>
  /** Where it leaves its files. */
  readonly cwd: string
  /** It reads what is typed; others end when their input does. */
  readonly isTypedTo?: boolean
}

export interface RunningExample {
  /** Everything printed so far, on both streams. */
  printed(): string
  lines(): string[]
  type(line: string): void
  /** Settles with the exit code when it has ended by itself. */
  end(): Promise<number | null>
  /** Ctrl-C. */
  interrupt(): void
  kill(): Promise<void>
}

/** What a reader types after `node --env-file=.env`, as a process of its own that does not outlive the test. */
export function startExample(args: readonly string[], options: ExampleOptions): RunningExample {
  const [script = '', ...rest] = args
  return startProgram([EXAMPLES + script, ...rest], options)
}

export function startProgram(args: readonly string[], options: ExampleOptions): RunningExample {
  const imports = options.isTypedTo ? [] : ['--import', ENDS_WITH_PARENT]
  return startCommand(process.execPath, [...imports, ...args], options)
}

export function startCommand(
  program: string,
  args: readonly string[],
  { env, cwd }: ExampleOptions,
): RunningExample {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const stdout = capture(child, 'stdout')
  const stderr = capture(child, 'stderr')
  const closed = once(child, 'close') as Promise<[number | null]>
  const kill = async () => {
    if (isGone(child)) return
    child.kill('SIGKILL')
    await closed
  }
  onTestFinished(kill)
  return {
    printed: () => stdout() + stderr(),
    lines: () => stdout().split('\n').filter(Boolean),
    type: (line) => child.stdin.write(`${line}\n`),
    end: async () => (await closed)[0],
    interrupt: () => void child.kill('SIGINT'),
    kill,
  }
}

function isGone({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
