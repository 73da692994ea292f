import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { table, wrapped } from './markdown.ts'

/** Every name that others may build on, so that a review sees when one changes. */
export function publicNamesPage(): string {
  const callers = shopwireCommands()
  const operators = adminCommands()
  return `<!-- Made by "npm run generate" from contract, service, cli, sdk and emulator; do not edit. -->
# Public names

Your code, scripts, dashboards and alerts may name what is below, and the
[routes, fields, headers and scopes](endpoints.md), [error types](errors.md), [event types](events.md),
[settings](../configuration.md) and [metrics](metrics.md). Anything else may change at any time.

| When | What may change |
|---|---|
| before 1.0, candidates included | every name; the [changelog](../../CHANGELOG.md) says which did |
| in a minor version from 1.0 on | names are added; one that is to go is marked in the changelog and works until the next major version |
| in a major version | names are removed or change their meaning; routes become [\`/v2\`](endpoints.md#versions) |

## Commands of callers

Each is followed by its own options, and by its subcommands with theirs. Every command takes the options of the first.

${commandList('shopwire', callers)}

## Commands of operators

${commandList('shopwire-admin', operators.commands)}

## Exit codes

${table(
  ['Command', 'Codes'],
  [
    ['`shopwire`', codes(evaluate('cli/src/trouble.ts', 'EXIT'))],
    ['`shopwire-admin`', codes(operators.exit)],
  ],
)}

## Exports of packages

${table(
  ['Import', 'Names'],
  packageDoors().map(([door, file]) => [`\`${door}\``, words([...exportedFrom(file)].sort())]),
)}
`
}

const words = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')

const codes = (exit: Readonly<Record<string, number>>) =>
  Object.entries(exit)
    .map(([name, code]) => `${code} ${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`)
    .join(', ')

type Commands = readonly { readonly path: string; readonly options: readonly string[] }[]

/** A line for each command with its subcommands; those that differ in their names alone share it. */
function commandList(program: string, commands: Commands): string {
  const everywhere = new Set(commands.find(({ path }) => path === '')?.options)
  const groups = Map.groupBy(commands, ({ path }) => path.split(' ', 1)[0] ?? '')
  const entries = [...groups].map(([group, some]) => {
    const [options = '', ...below] = some.map(({ path, options }) => {
      const own = path === '' ? options : options.filter((one) => !everywhere.has(one))
      return [path.slice(group.length), ...own].join(' ').trim()
    })
    return { group, options, below: words(below) }
  })
  return [...Map.groupBy(entries, ({ options, below }) => `${options}: ${below}`).values()]
    .map((alike) => {
      const names = alike.map(({ group, options }) => [program, group, options].filter(Boolean).join(' '))
      const below = alike[0]?.below
      return below ? wrapped(`- ${words(names)}: ${below}`, '  ') : `- ${words(names)}`
    })
    .join('\n')
}

/** Its completion has the whole tree. */
function shopwireCommands(): Commands {
  const script = execFileSync(process.execPath, ['cli/bin/shopwire.ts', 'completion', 'bash'], {
    encoding: 'utf8',
  })
  return [...script.matchAll(/^ +"([^"]*)"\) words="[^"]*"; options="([^"]*)" ;;$/gm)].map(
    ([, path = '', options = '']) => ({ path, options: options.split(' ').filter((one) => one !== '') }),
  )
}

/** Asks for the help of every command, in one process. */
function adminCommands(): { exit: Record<string, number>; commands: Commands } {
  return evaluate(
    'service/src/admin/program.ts',
    `await (async () => {
      const commands = []
      const visit = async (path) => {
        let text = ''
        await part.runAdmin({ out: (more) => { text += more }, err() {} }, [...path, '--help'])
        const lines = (title) => (text.split('\\n' + title + ':\\n')[1] ?? '').split('\\n\\n')[0].split('\\n')
        const options = lines('Options').flatMap((line) => /^  (?:-\\w, )?(--[\\w-]+)/.exec(line)?.[1] ?? [])
        commands.push({ path: path.join(' '), options: options.filter((one) => one !== '--help') })
        for (const line of lines('Commands')) {
          const name = /^  ([a-z][\\w-]*)/.exec(line)?.[1]
          if (name !== undefined && name !== 'help') await visit([...path, name])
        }
      }
      await visit([])
      return { exit: part.EXIT, commands }
    })()`,
  )
}

/** The value of an expression in which `part` is the module; a name alone is one of its exports. In a process of its own, as of every program. */
function evaluate<T>(file: string, expression: string): T {
  const value = /^\w+$/.test(expression) ? `part.${expression}` : expression
  const script = `import * as part from './${file}'; process.stdout.write(JSON.stringify(${value}))`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }),
  )
}

function packageDoors(): [door: string, file: string][] {
  // The command line is a program: what it exports is for our own tests.
  return ['sdk', 'emulator'].flatMap((folder) => {
    const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return Object.entries<string>(exports).map(([door, file]): [string, string] => [
      name + door.slice(1),
      join(folder, file),
    ])
  })
}

/** Values and types alike. */
function exportedFrom(file: string): Set<string> {
  const names = new Set<string>()
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
  for (const statement of source.statements) {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause, moduleSpecifier } = statement
      if (exportClause === undefined && moduleSpecifier && ts.isStringLiteral(moduleSpecifier)) {
        const from = join(dirname(file), moduleSpecifier.text)
        if (existsSync(from)) for (const name of exportedFrom(from)) names.add(name)
      } else if (exportClause && ts.isNamespaceExport(exportClause)) names.add(exportClause.name.text)
      else if (exportClause) for (const one of exportClause.elements) names.add(one.name.text)
    } else if (isExported(statement)) {
      if (ts.isVariableStatement(statement))
        for (const one of statement.declarationList.declarations) names.add(one.name.getText(source))
      else if ('name' in statement) names.add((statement.name as ts.Identifier).text)
    }
  }
  return names
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
}
