import { Argument, type Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { pathOf } from './schema-check.ts'

export function completionCommand(program: Command, { out }: CommandContext): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
    .addHelpText(
      'after',
      [
        '',
        'Examples:',
        '  source <(shopwire-admin completion bash)      in ~/.bashrc',
        '  source <(shopwire-admin completion zsh)       in ~/.zshrc',
      ].join('\n'),
    )
    .description('print a script that completes commands and options in the shell')
    .action((shell: string, _options, command: Command) => {
      const script = `${shell === 'zsh' ? ZSH_AS_BASH : ''}${scriptOf(program)}`
      out(command.optsWithGlobals().json ? `${JSON.stringify({ script })}\n` : script)
    })
}

/** A ~/.zshrc of one line has not loaded zsh's own completion, which its emulation of bash's needs. */
const ZSH_AS_BASH = `autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
`

/** The script has every command, so that completing never starts the program. zsh runs it with its emulation of bash's completion. */
function scriptOf(program: Command): string {
  const globals = longOptions(program)
  const all = [program, ...descendants(program)]
  const known = all.filter((one) => one !== program).map((one) => `" ${pathOf(one)}"`)
  const cases = all.map((one) => {
    const path = one === program ? '' : ` ${pathOf(one)}`
    const choices = one.registeredArguments[0]?.argChoices ?? []
    const words = [...one.commands.map((each) => each.name()), ...choices]
    const options = [...(one === program ? [] : longOptions(one)), ...globals, '--help']
    return `    "${path}") words="${words.join(' ')}"; options="${options.join(' ')}" ;;`
  })
  return `_shopwire_admin() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" word i words="" options=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$path $word" in
      ${known.join('|')}) path="$path $word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  if [[ "$cur" == -* ]]; then words="$options"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _shopwire_admin shopwire-admin
`
}

const longOptions = (command: Command) => command.options.flatMap(({ long }) => (long ? [long] : []))

const descendants = (command: Command): Command[] =>
  command.commands.flatMap((one) => [one, ...descendants(one)])
