import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeBlocks, ROOT } from '@shopwire/test-kit/pages/code-blocks'

/** A line that a page tells its reader to type. */
export interface CommandLine {
  readonly page: string
  readonly line: string
}

/** Documented lines that no test runs as they are printed: by kind, and why. A line of another kind has to be run by a test. */
export const NOT_RUN: readonly { readonly lines: RegExp; readonly why: string }[] = [
  {
    lines:
      /: (npm (ci|test)|npm (run|exec)\b|npx (vitest|changeset)|SHOPWIRE_\w+=\S+ (npm|npx) |node deploy\/image\/assemble)/,
    why: 'tools of contributors and of CI, which runs the short ones itself; the others take minutes to hours',
  },
  {
    lines: /: (npm install |npm audit|npx @shopwire\/|npx @shopwire$)/,
    why: 'packages that are not on npm yet; tests/installing/release.test.ts installs the packed ones and runs them',
  },
  {
    lines: /: (docker |\.\/shopwire |ln -s )/,
    why: 'needs a Docker engine; `npm run kit` follows the pages about Compose in one',
  },
  {
    lines: /: (kubectl|helm) |^docs\/self-hosting\/kubernetes\.md: \(umask/,
    why: 'needs a cluster; deploy/test/chart.test.ts renders what is applied',
  },
  {
    lines: /^docs\/runbooks\/alerts\.md: /,
    why: 'needs Prometheus and faults of a machine; `npm run drills` raises each alert and runs its section',
  },
  {
    lines: /: (sudo |systemctl|timedatectl|chronyc|apt-get|install -d|mkdir -p \/etc|cp (-r )?deploy\/)/,
    why: "changes the reader's machine as root",
  },
  {
    lines: /: (shopwire backup\b|pgbackrest |echo SHOPWIRE_BACKUP_METRICS=|\/opt\/shopwire\/releases\/)/,
    why: 'paths of an installed release; tests/installing/rolling-upgrade and tests/backups run the same scripts on folders of their own',
  },
  {
    lines: /^docs\/runbooks\/restore\.md: pg_ctl /,
    why: 'the old server, which tests/backups/restores.test.ts ends in its own way',
  },
  {
    lines: /^examples\//,
    why: 'tests/callers/examples.test.ts starts each program itself, on ports of its own',
  },
  {
    lines: /^docs\/self-hosting\/supply-chain\.md: /,
    why: 'needs the files of a published release, or the image',
  },
  { lines: /: patronictl /, why: 'needs three nodes; `npm run failover` starts them and switches over' },
  { lines: /: (psql |pass |id=\$|source |jq )/, why: "uses a program or a login of the reader's own" },
  {
    lines: /^docs\/funding\.md: shopwire-admin topups (decided|reconcile|owed|write-off)/,
    why: 'needs a card provider; service/test/funding calls what they do',
  },
]

/** Pages that a test writes from what it ran, and the list of all names, which tells nobody to type anything. */
const PLAYED = [
  'docs/start/five-minutes.md',
  'docs/first-day.md',
  'docs/disputes.md',
  'docs/reference/public-names.md',
]

/** Those in the prose, and those in blocks that are not marked as run, nor written by `npm run kit` from what it ran. */
export function commandLinesOf({ path, text }: { path: string; text: string }): CommandLine[] {
  if (PLAYED.includes(path)) return []
  const page = {
    path,
    text: text.replace(/<!-- made by npm run kit: (\S+) -->[\s\S]*?<!-- end: \1 -->/g, ''),
  }
  const prose = page.text.replace(/^( *)```[\s\S]*?^\1```/gm, '')
  const inline = [...prose.matchAll(/`((?:npx |\.\/)?(?:shopwire|shopwire-admin|npm) [^`\n]*)`/g)]
  const blocks = codeBlocks(page).filter(
    ({ language, marks }) => /^(sh|bash|console)$/.test(language) && !marks.run,
  )
  const lines = [...inline.map(([, line = '']) => line), ...blocks.flatMap(linesOf)]
  return lines.filter((line) => !isSetting(line)).map((line) => ({ page: page.path, line }))
}

function linesOf({ language, code }: { language: string; code: string }): string[] {
  const lines = code.replace(/\\\n\s*/g, '').split('\n')
  const typed = language === 'console' ? lines.flatMap((line) => /^\$ (.*)/.exec(line)?.[1] ?? []) : lines
  return typed.map((line) => line.replace(/(^| +)#( .*|$)/, '')).filter((line) => line.trim() !== '')
}

/** For a settings file, or for the environment of the next line. */
function isSetting(line: string): boolean {
  return /^(export )?[A-Z_]+=('[^']*'|"[^"]*"|[^\s"']*)( +#.*)?$/.test(line)
}

/** What tests run: their sources, with the words of a command behind one another. */
export async function readTests(): Promise<string> {
  const folders = [
    'bench',
    'cli/test',
    'conformance',
    'deploy/test',
    'docs/test',
    'emulator/test',
    'service/test',
    'service/testing',
    'test-kit/systems',
    'tests',
    'tools/test',
  ]
  const files = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(ROOT, folder), { recursive: true }))
        .filter((name) => name.endsWith('.ts') && !/node_modules|command-lines/.test(name))
        .map((name) => join(ROOT, folder, name)),
    ),
  )
  const texts = await Promise.all(files.flat().map((file) => readFile(file, 'utf8')))
  return texts.join('\n').replace(/['"`]\s*,\s*['"`]/g, ' ')
}

/** The words that name a command of ours, such as `shopwire-admin`, `orders cancel`. What an installed store calls `shopwire admin` is the same. */
export function commandOf(line: string): { program: string; path: string } | undefined {
  const [, program, words = ''] =
    /^(?:npx )?(shopwire[ -]admin|shopwire (?:all|backup)|shopwire)((?: [a-z][a-z-]*(?= |$))*)/.exec(line) ??
    []
  return program === undefined
    ? undefined
    : { program: program.replace(' admin', '-admin'), path: words.trim() }
}

/** By program and path: the options of every command, from the generated page. */
export async function readCommands(): Promise<Map<string, string[]>> {
  const page = await readFile(join(ROOT, 'docs/reference/public-names.md'), 'utf8')
  const text = page.slice(0, page.indexOf('## Exit codes')).replaceAll('\n  ', ' ')
  const named = (list = '') => [...list.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.split(/ (?=--)/))
  const rows = text.matchAll(/^- ([^:\n]+)(?:: (.+))?$/gm)
  return new Map(
    [...rows].flatMap(([, commands, below]) =>
      named(commands).flatMap(([command = '', ...options]): [string, string[]][] => [
        [command, options],
        ...named(below).map(([name, ...own]): [string, string[]] => [`${command} ${name}`, own]),
      ]),
    ),
  )
}
