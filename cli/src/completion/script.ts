import type { TreeNode, Word } from './tree.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** The script contains the whole command tree, so completion never starts the program. */
export function scriptFor(shell: Shell, tree: readonly TreeNode[]): string {
  return { bash, zsh, fish }[shell](tree)
}

/** Finds the longest command path that matches the words of the line. */
function bash(tree: readonly TreeNode[]): string {
  return `# shopwire completion for bash
_shopwire() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$path $word" in
${tree
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      "${parentOf(path)} ${lastOf(path)}") path="${path}" ;;`)
  .join('\n')}
    esac
  done
  local words="" options=""
  case "$path" in
${tree.map(({ path, words, options }) => `    "${path}") words="${texts(words)}"; options="${texts(options)}" ;;`).join('\n')}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -F _shopwire shopwire
`
}

function zsh(tree: readonly TreeNode[]): string {
  const described = (words: readonly Word[]) =>
    words
      .map(({ text, about }) => `'${quoted(text.replaceAll(':', '\\:'))}${about ? `:${quoted(about)}` : ''}'`)
      .join(' ')
  return `#compdef shopwire
_shopwire() {
  local path_="" word i
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$path_ $word" in
${tree
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      "${parentOf(path)} ${lastOf(path)}") path_="${path}" ;;`)
  .join('\n')}
    esac
  done
  local -a commands_ options_
  case "$path_" in
${tree.map(({ path, words, options }) => `    "${path}") commands_=(${described(words)}); options_=(${described(options)}) ;;`).join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe 'option' options_
  elif (( \${#commands_} )); then
    _describe 'command' commands_
  else
    _files
  fi
}
if [ "$funcstack[1]" = "_shopwire" ]; then _shopwire "$@"; else compdef _shopwire shopwire; fi
`
}

function fish(tree: readonly TreeNode[]): string {
  const lines = tree.flatMap(({ path, words, options }) => {
    const when = `-n '__shopwire_at "${path}"'`
    return [
      ...words.map(
        ({ text, about }) => `complete -c shopwire -f ${when} -a '${quoted(text)}'${described(about)}`,
      ),
      ...options.map(
        ({ text, about }) => `complete -c shopwire ${when} -l ${text.slice(2)}${described(about)}`,
      ),
    ]
  })
  const paths = tree.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`)
  return `# shopwire completion for fish
function __shopwire_at
  set -l known ${paths.join(' ')}
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$at $word")
    contains -- $next $known; and set at $next
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

function described(about: string): string {
  return about ? ` -d '${quoted(about)}'` : ''
}

function texts(words: readonly Word[]): string {
  return words.map(({ text }) => text).join(' ')
}

function parentOf(path: string): string {
  return path.split(' ').slice(0, -1).join(' ')
}

function lastOf(path: string): string {
  return path.split(' ').at(-1) ?? ''
}

/** Within single quotes, of every shell here. */
function quoted(text: string): string {
  return text.replaceAll('\\', '').replaceAll("'", '’')
}
