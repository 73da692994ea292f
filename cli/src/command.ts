import type { Command } from 'commander'
import { type Context, createContext, type GlobalOptions, type Outcome } from './context.ts'

/**
 * Sets the action of a command. `run` gets the context, the options, and then the arguments. Its exit code is kept until the
 * output has been written.
 */
export function work<Options extends object>(
  command: Command,
  run: (context: Context, options: Options, ...args: string[]) => Promise<Outcome>,
): Command {
  return command.action(async (...given: unknown[]) => {
    const called = given.at(-1) as Command
    const context = createContext(called.optsWithGlobals() as GlobalOptions)
    const code = await run(context, called.opts() as Options, ...(given.slice(0, -2) as string[]))
    exitCode = code ?? 0
  })
}

let exitCode = 0
export const exitCodeOfWork = () => exitCode

/** At the end of a help text. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`
}

/** For options that may be given more than once. */
export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value]
}

export interface CommandEntry {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly group: string
  readonly summary: string
  load(): Promise<{ define(command: Command, surroundings: Surroundings): void }>
}

/** What the program offers to its commands. */
export interface Surroundings {
  /** With every command loaded. */
  wholeProgram(): Promise<Command>
}
