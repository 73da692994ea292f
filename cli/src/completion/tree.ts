import type { Command } from 'commander'

/** One command and what may follow it. */
export interface TreeNode {
  /** `orders create`; empty for the program itself. */
  readonly path: string
  readonly words: readonly Word[]
  readonly options: readonly Word[]
}

export interface Word {
  readonly text: string
  readonly about: string
}

/** Every command with its subcommands, the values its first argument may have, and its options. */
export function commandTree(program: Command): TreeNode[] {
  const globals = optionsOf(program)
  return [...walk(program, '', globals)]
}

function* walk(command: Command, path: string, globals: readonly Word[]): Generator<TreeNode> {
  const words = [
    ...command.commands.map((one) => ({ text: one.name(), about: one.summary() || one.description() })),
    ...(command.registeredArguments[0]?.argChoices ?? []).map((text) => ({ text, about: '' })),
  ]
  const own = path === '' ? [] : optionsOf(command)
  yield { path, words, options: [...own, ...globals, { text: '--help', about: 'print this' }] }
  for (const one of command.commands) {
    const names = [one.name(), ...one.aliases()]
    for (const name of names) yield* walk(one, path === '' ? name : `${path} ${name}`, globals)
  }
}

function optionsOf(command: Command): Word[] {
  return command.options.flatMap(({ long, description }) =>
    long ? [{ text: long, about: description }] : [],
  )
}
