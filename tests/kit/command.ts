import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { capture, type Ended } from '@shopwire/test-kit/systems'

export interface CommandOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** Runs a command until it exits, whatever its exit code. */
export async function attempt(
  command: string,
  args: readonly string[],
  { cwd, env = {}, input = '' }: CommandOptions = {},
): Promise<Ended> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env } })
  const [stdout, stderr] = [capture(child, 'stdout'), capture(child, 'stderr')]
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: stdout(), stderr: stderr() }
}

/** Its stdout; fails when the exit code is not 0. */
export async function run(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await attempt(command, args, options)
  if (code === 0) return stdout
  throw new Error(
    `${command} ${args.join(' ')} ended with ${code}:\n${stdout.slice(-2_000)}${stderr.slice(-4_000)}`,
  )
}

export const say = (line: string) => process.stderr.write(`${line}\n`)
