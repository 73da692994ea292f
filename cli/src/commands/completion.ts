import type { Command } from 'commander'
import { Argument } from 'commander'
import { examples, type Surroundings, work } from '../command.ts'
import { SHELLS, type Shell, scriptFor } from '../completion/script.ts'
import { commandTree } from '../completion/tree.ts'

export function define(command: Command, { wholeProgram }: Surroundings): void {
  command
    .addArgument(new Argument('<shell>', 'which one').choices(SHELLS))
    .addHelpText(
      'after',
      examples(
        'shopwire completion bash > ~/.local/share/bash-completion/completions/shopwire',
        'shopwire completion zsh > ~/.zsh/completions/_shopwire     (a folder that is in $fpath)',
        'shopwire completion fish > ~/.config/fish/completions/shopwire.fish',
      ),
    )
  work(command, async ({ out }, _options, shell = '') => {
    out.raw(scriptFor(shell as Shell, commandTree(await wholeProgram())))
  })
}
