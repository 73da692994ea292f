import type { Command } from 'commander'
import { Argument } from 'commander'
import { examples, work } from '../command.ts'
import { type Shell, SHELLS, scriptFor } from '../completion/script.ts'
import { commandTree } from '../completion/tree.ts'

export function define(command: Command): void {
  command.addArgument(new Argument('<shell>', 'which one').choices(SHELLS)).addHelpText(
    'after',
    examples(
      'shopwire completion bash > ~/.local/share/bash-completion/completions/shopwire',
      'shopwire completion zsh > "${fpath[1]}/_shopwire"',
      'shopwire completion fish > ~/.config/fish/completions/shopwire.fish',
    ),
  )
  work(command, async ({ out }, _options, shell = '') => {
    // Loaded here only: the tree needs all commands, and this command is one of them.
    const { commandLine } = await import('../command-line.ts')
    const { program } = await commandLine([], true)
    out.raw(scriptFor(shell as Shell, commandTree(program)))
  })
}
