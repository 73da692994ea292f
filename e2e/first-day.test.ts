import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { provisionDatabase, startPostgres, until } from '@shopwire/engines'
import { ownerSettings, START_MS_MAX, settingsFor, startWorker, type WorkerProcess } from '@shopwire/harness'
import { expect, test } from 'vitest'

/**
 * docs/first-day.md is what an operator sees who starts from an empty database. Here the same commands are run, and the page
 * must say what they print, ids and times aside. SHOPWIRE_WRITE_DOCS=1 writes it anew.
 */
const PAGE = fileURLToPath(new URL('../docs/first-day.md', import.meta.url))
const ADMIN = fileURLToPath(new URL('../service/bin/admin.ts', import.meta.url))
const DELIVERED_MS_MAX = 15_000

type Step = string | { readonly $: string; readonly name?: string; readonly until?: RegExp }

const FILES = {
  'catalogue.csv': [
    'id,name,type,collection,price_cents,image,available_until,for_sale',
    '1144058340327047001,Aurora Ring,decoration,Northern Lights,499,https://images.example/aurora.png,,true',
    '1144058340328047004,Solar Wind,effect,Northern Lights,799,,,true',
  ],
  'new-prices.csv': [
    'id,name,type,collection,price_cents',
    '1144058340327047001,Aurora Ring,decoration,Northern Lights,549',
    '1144058340328047004,Solar Wind,effect,Northern Lights,799',
    '1.14406E+18,Polar Night,nameplate,Northern Lights,599',
  ],
  'ring-links.txt': [
    'https://gift.example/r-7f3a',
    'https://gift.example/r-91bc',
    'https://gift.example/r-0d42',
  ],
}

const STEPS: readonly Step[] = [
  `# A first day

From an empty database to a store that sells, with one command. A test runs everything below and compares what is printed.
\`shopwire-admin\` reads its settings from the environment ([configuration](configuration.md)); in a clone it is
\`node service/bin/admin.ts\`. Every command takes \`--json\`, and every one that changes something writes an audit row.

## The catalogue`,
  { $: 'shopwire-admin migrate 2>/dev/null' },
  { $: 'cat catalogue.csv' },
  'Preview the changes, then apply them:',
  { $: 'shopwire-admin catalogue import catalogue.csv --dry-run' },
  { $: 'shopwire-admin catalogue import catalogue.csv | tail -1' },
  `The first item is sold from links in stock. They are encrypted when they are loaded and not shown again. The
second item has no source, so an operator has to deliver it.`,
  { $: 'shopwire-admin pool load 1144058340327047001 ring-links.txt' },
  { $: 'shopwire-admin supply set 1144058340327047001 --warn-below 2' },
  { $: 'shopwire-admin pool levels' },
  '## A customer',
  { $: 'shopwire-admin accounts create "Acme Bots"', name: 'account' },
  { $: 'shopwire-admin accounts fund {account} 50.00 --reference wire-2026-118' },
  { $: 'shopwire-admin keys create {account} --name production --scopes ordering | grep -v Secret' },
  `Its server buys with that key over HTTP ([buying](buying.md)). An operator can buy for it too, by the same rules and through the
same statement:`,
  { $: 'shopwire-admin orders place {account} 1144058340327047001:2:499 --key first-order', name: 'ring' },
  { $: 'shopwire-admin orders place {account} 1144058340327047001:2:499 --key first-order' },
  { $: 'shopwire-admin orders place {account} 1144058340328047004 --key second-order', name: 'wind' },
  { $: 'shopwire-admin orders place {account} 1144058340328047004:9 --key third-order' },
  `## Delivery

A worker runs (\`node service/bin/worker.ts\`). It delivers what it can and reports what it cannot:`,
  { $: 'shopwire-admin orders show {ring}', until: /; delivered/ },
  { $: 'shopwire-admin orders waiting', until: /by hand/ },
  { $: 'shopwire-admin pool levels --low' },
  'The second item turns out to be unavailable. Cancelling returns the money in the same commit:',
  { $: 'shopwire-admin orders cancel {wind} --reason "the maker has stopped"' },
  { $: 'shopwire-admin orders cancel {wind} --reason "the maker has stopped"' },
  { $: 'echo https://gift.example/w-1 | shopwire-admin orders deliver {wind} -' },
  { $: 'shopwire-admin orders waiting' },
  '## Where every cent went',
  { $: 'shopwire-admin accounts statement {account}' },
  { $: 'shopwire-admin verify 2>/dev/null | tail -1' },
  `## A damaged file

A spreadsheet has changed the ids in this file. The whole file is rejected:`,
  { $: 'shopwire-admin catalogue import new-prices.csv' },
  '## Closing for the night',
  {
    $: 'shopwire-admin store plan --from 2099-12-24T22:00:00Z --for 2h --reason "stock-taking"',
    name: 'window',
  },
  { $: 'shopwire-admin store show' },
  { $: 'shopwire-admin audit --limit 3' },
]

test('docs/first-day.md shows exactly what its commands print', { timeout: START_MS_MAX }, async () => {
  const postgres = await startPostgres()
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-first-day-'))
  try {
    const database = await provisionDatabase(postgres, 'shopwire')
    const settings = { ...settingsFor(database), ...ownerSettings(database) }
    await writeFile(join(folder, 'shopwire-admin'), `#!/bin/sh\nexec "${process.execPath}" "${ADMIN}" "$@"\n`)
    await chmod(join(folder, 'shopwire-admin'), 0o755)
    for (const [name, lines] of Object.entries(FILES))
      await writeFile(join(folder, name), `${lines.join('\n')}\n`)
    const shell = (command: string) =>
      promisify(execFile)('bash', ['-c', `exec 2>&1; ${command}`], {
        cwd: folder,
        env: { ...settings, USER: 'you', PATH: `${folder}:${process.env.PATH}` },
      }).then(
        ({ stdout }) => stdout,
        ({ stdout }: { stdout: string }) => stdout,
      )
    const page = await play(shell, () => startWorker(settings))
    if (process.env.SHOPWIRE_WRITE_DOCS) await writeFile(PAGE, page)
    expect(withoutAccidents(await readFile(PAGE, 'utf8'))).toBe(withoutAccidents(page))
  } finally {
    await postgres.stop()
    await rm(folder, { recursive: true })
  }
})

/** Runs the steps; the worker begins where the page first waits for it. */
async function play(
  shell: (command: string) => Promise<string>,
  startTheWorker: () => Promise<WorkerProcess>,
): Promise<string> {
  const names = new Map<string, string>()
  const parts: string[] = []
  let worker: WorkerProcess | undefined
  try {
    for (const step of STEPS) {
      if (typeof step === 'string') {
        parts.push(`${step}\n`)
        continue
      }
      const command = step.$.replace(/\{(\w+)\}/g, (_, name: string) => names.get(name) ?? '')
      let printed = ''
      const { until: wanted } = step
      if (wanted) {
        worker ??= await startTheWorker()
        const isThere = async () => {
          printed = await shell(command)
          return wanted.test(printed)
        }
        await until(isThere, DELIVERED_MS_MAX, () => `"${command}" kept printing:\n${printed}`)
      } else {
        printed = await shell(command)
      }
      if (step.name) names.set(step.name, /\b[a-z]+_[0-9a-z]{26}\b/.exec(printed)?.[0] ?? '')
      parts.push(`\`\`\`console\n$ ${command}\n${printed.trimEnd()}\n\`\`\`\n`)
    }
  } finally {
    await worker?.kill('SIGTERM')
  }
  return parts.join('\n')
}
/** Ids become the order of their first appearance; times, counts of milliseconds and the login are blotted out. */
function withoutAccidents(page: string): string {
  const ids: string[] = []
  return page
    .replace(/\b([a-z]+)_(?:c1_)?[0-9a-z]{26}\b/g, (id, prefix: string) => {
      if (!ids.includes(id)) ids.push(id)
      return `${prefix}#${ids.indexOf(id)}`
    })
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3}Z)?/g, 'TIME')
    .replace(/\bcli:\w+/g, 'cli:LOGIN')
    .replace(/Applied \d+; the database is at version \d+/, 'MIGRATED')
    .replace(/\b\d+(\.\d+)? m?s\b/g, 'DURATION')
    .replace(/ +/g, ' ')
}
