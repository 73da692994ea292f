import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { dashboardOpenApiText, openApiText, postmanText } from '@shopwire/contract/published'
import { lookCss, MARK } from '@shopwire/look'
import { findPostgres, provisionDatabase, startPostgres } from '@shopwire/test-kit/servers'
import { chartOutputs } from './chart/outputs.ts'
import type { Setting } from './chart/values-schema.ts'
import { mailLookText } from './mail-look.ts'
import { DASHBOARDS } from './monitoring/dashboards.ts'
import { dashboardText } from './monitoring/grafana.ts'
import { sloRulesText } from './monitoring/slo.ts'
import { type ChecklistItem, checklistPage } from './reference/checklist-page.ts'
import { databaseRolesPage } from './reference/database-roles-page.ts'
import { referencePages } from './reference/index.ts'
import { wrapped } from './reference/markdown.ts'
import { type MetricDescription, metricsPage } from './reference/metrics-page.ts'
import { publicNamesPage } from './reference/public-names-page.ts'
import { rolesSection } from './reference/roles-section.ts'
import { schemaChecksumsText } from './schema-checksums.ts'
import { sdkConstantsText, sdkTypesText } from './sdk-contract.ts'
import { webRoutesText } from './web-routes.ts'

/** Written by hand, except for the number of scenarios of `shopwire golive`. */
const SCENARIO_COUNTS = ['README.md', 'cli/README.md', 'docs/README.md', 'docs/guides/go-live.md']

/** Generated files that are committed, so that a reviewer sees them change. `--check` only compares. */
const OUTPUTS: readonly { path: string; make: () => Promise<string> }[] = [
  // Before the dump: a file that may not change is named before anything else is made of it.
  { path: 'service/schema/checksums.json', make: schemaChecksumsText },
  { path: 'service/schema/schema.sql', make: dumpSchema },
  { path: '.env.example', make: async () => envExample(await readSettings()) },
  { path: 'docs/openapi.json', make: async () => openApiText() },
  { path: 'docs/dashboard-openapi.json', make: async () => dashboardOpenApiText() },
  { path: 'docs/shopwire.postman_collection.json', make: async () => postmanText() },
  { path: 'sdk/src/contract.ts', make: async () => sdkConstantsText() },
  { path: 'sdk/src/types.ts', make: async () => sdkTypesText() },
  { path: 'web/apps/dashboard/api/routes.generated.ts', make: async () => webRoutesText() },
  { path: 'look/look.css', make: async () => lookCss() },
  { path: 'web/kit/theme/variables.css', make: async () => webVariables() },
  { path: 'service/src/operations/status-page/look.generated.ts', make: async () => statusLook() },
  { path: 'service/src/platform/mail/look.generated.ts', make: async () => mailLookText() },
  { path: 'docs/configuration.md', make: async () => configurationPage(await readSettings()) },
  { path: 'docs/conformance.md', make: conformancePage },
  { path: 'docs/self-hosting/checklist.md', make: async () => checklistPage(await readChecklist()) },
  { path: 'docs/database-roles.md', make: async () => databaseRolesPage() },
  ...SCENARIO_COUNTS.map((path) => ({ path, make: () => withScenarios(path) })),
  { path: 'docs/guides/dashboard.md', make: dashboardPage },
  {
    path: 'docs/reference/metrics.md',
    make: async () => metricsPage(await readMetrics(), await readAlerts()),
  },
  { path: 'docs/reference/public-names.md', make: async () => publicNamesPage() },
  { path: 'deploy/monitoring/rules/slo.yml', make: async () => sloRulesText() },
  ...DASHBOARDS.map((dashboard) => ({
    path: `deploy/monitoring/grafana/dashboards/${dashboard.slug}.json`,
    make: async () => dashboardText(dashboard, DASHBOARDS),
  })),
  ...chartOutputs(readSettings),
  ...referencePages().map(({ path, text }) => ({ path, make: async () => text })),
]

const isCheck = process.argv.includes('--check')
for (const { path, make } of OUTPUTS) {
  const wanted = await make()
  const found = await readFile(path, 'utf8').catch(() => '')
  if (wanted === found) continue
  if (isCheck) {
    process.stdout.write(`${path} is out of date: run "npm run generate" and commit the change\n`)
    process.exitCode = 1
  } else {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, wanted)
    process.stdout.write(`wrote ${path}\n`)
  }
}

async function dumpSchema(): Promise<string> {
  const postgres = await startPostgres()
  try {
    const { ownerUrl } = await provisionDatabase(postgres, 'shopwire')
    const env = { ...process.env, SHOPWIRE_ENV: 'development', SHOPWIRE_DATABASE_OWNER_URL: ownerUrl }
    execFileSync(process.execPath, ['service/bin/migrate.ts'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const dump = execFileSync(join(findPostgres(), 'pg_dump'), ['--schema-only', '--no-owner', ownerUrl], {
      encoding: 'utf8',
    })
    return `-- The schema after all migrations, for reading. Made by "npm run generate"; do not edit.\n\n${tidy(dump)}`
  } finally {
    await postgres.stop()
  }
}

/** Removes what differs between versions and runs of pg_dump and is not part of the schema. */
function tidy(dump: string): string {
  const lines = dump
    .split('\n')
    .filter((line) => !/^(--|SET |SELECT pg_catalog\.set_config|\\(un)?restrict)/.test(line))
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}

function webVariables(): string {
  return execFileSync(process.execPath, ['web/variables.ts'], { encoding: 'utf8' })
}

/** The service imports no workspace with colours, and its bundle reads no style sheet. */
function statusLook(): string {
  return [
    '// Made by "npm run generate" from look/; do not edit.',
    `export const LOOK = \`${lookCss()}\``,
    `export const MARK = ${inspect(MARK).replace(/\n\}$/, ',$&')} as const`,
    '',
  ].join('\n')
}

async function readSettings(): Promise<Setting[]> {
  return (askAdmin('config', '--reference') as { settings: Setting[] }).settings
}

async function readMetrics(): Promise<MetricDescription[]> {
  return (askAdmin('metrics') as { metrics: MetricDescription[] }).metrics
}

/** Written by hand, except for what each role may do. */
async function dashboardPage(): Promise<string> {
  return (await readFile('docs/guides/dashboard.md', 'utf8')).replace(
    /(<!-- made by npm run generate: roles -->\n)[\s\S]*?(?=<!-- end: roles -->)/,
    (_, mark: string) => `${mark}${rolesSection()}`,
  )
}

/** Those that are written by hand. */
async function readAlerts(): Promise<string> {
  const files = ['processes', 'orders', 'webhooks', 'database', 'host']
  const texts = await Promise.all(
    files.map((name) => readFile(`deploy/monitoring/rules/${name}.yml`, 'utf8')),
  )
  return texts.join('\n')
}

async function readChecklist(): Promise<ChecklistItem[]> {
  return (askAdmin('doctor', '--list') as { checks: ChecklistItem[] }).checks
}

function askAdmin(...command: string[]): unknown {
  const args = ['service/bin/admin.ts', ...command, '--json']
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

function envExample(settings: Setting[]): string {
  const lines = settings.map(
    ({ name, default: value, meaning }) => `# ${meaning}\n${value === '' ? '# ' : ''}${name}=${value}\n`,
  )
  return `# Made by "npm run generate" from service/src/config/config.ts. Every setting also works as NAME_FILE.\n\n${lines.join('\n')}`
}

function configurationPage(settings: Setting[]): string {
  const rows = settings.map(
    ({ name, default: value, meaning, secret }) =>
      `| \`${name}\` | ${value === '' ? '' : `\`${value}\``} | ${meaning}${secret ? ' (secret)' : ''} |`,
  )
  return [
    '<!-- Made by "npm run generate" from service/src/config/config.ts; do not edit. -->',
    '# Configuration',
    '',
    'Settings come from the environment and nowhere else. Every one may be given as `NAME_FILE`, the path of a file that',
    'holds the value. All errors are reported at once, and `shopwire-admin config` prints the effective settings with secrets',
    'masked. In production, well-known secrets are refused, and so is every name that begins with `SHOPWIRE_` and is',
    'neither a setting nor read by another program of Shopwire.',
    '',
    '| Setting | Default | Meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

/** The pages that say how many scenarios there are. */
async function withScenarios(path: string): Promise<string> {
  const printed = execFileSync(process.execPath, ['cli/bin/shopwire.ts', 'golive', '--list', '--json'], {
    encoding: 'utf8',
  })
  const { scenarios } = JSON.parse(printed) as { scenarios: unknown[] }
  const text = await readFile(path, 'utf8')
  return text.replace(/\b\d+ failure scenarios/g, `${scenarios.length} failure scenarios`)
}

interface Sentence {
  id: string
  section: string
  says: string
  not_checkable?: string
}

/** How many checks prove the sentences of each section, and what no check can prove. */
async function conformancePage(): Promise<string> {
  const printed = execFileSync(process.execPath, ['conformance/run.ts', '--list'], { encoding: 'utf8' })
  const checks = (JSON.parse(printed) as { checks: { id: string; proves: string[] }[] }[]).flatMap(
    (group) => group.checks,
  )
  const sentences = JSON.parse(await readFile('conformance/sentences.json', 'utf8')) as Sentence[]
  const rows = [...Map.groupBy(sentences, ({ section }) => section)].map(([section, some]) => {
    const ids = new Set(some.map(({ id }) => id))
    const proofs = checks.filter(({ proves }) => proves.some((id) => ids.has(id)))
    return `| ${section} | ${some.length} | ${proofs.length} |`
  })
  const open = sentences.filter(({ not_checkable }) => not_checkable !== undefined)
  return [
    '<!-- Made by "npm run generate" from conformance; do not edit. -->',
    '# Conformance',
    '',
    `${checks.length} checks test a server against the interface, sentence by sentence, and against our documented choices where the`,
    'interface leaves room. `npm run conformance` runs them against a private service on both admission stores, or with',
    '`--base-url` against any server ([conformance](../conformance/README.md)).',
    '`npm run conformance -- --list` prints which of the sentences in',
    '[sentences.json](../conformance/sentences.json) each check proves; it may prove several.',
    '',
    '| Section | Sentences | Checks |',
    '|---|---|---|',
    ...rows,
    '',
    '## What cannot be checked from outside',
    '',
    `${open.length} sentences. The file says of each why, and what covers it instead.`,
    '',
    ...[...Map.groupBy(open, ({ not_checkable = '' }) => not_checkable.split(';', 1)[0])].map(([why, some]) =>
      wrapped(
        `- ${why?.replace(/^./, (letter) => letter.toUpperCase())}: ${some.map(({ id }) => `\`${id}\``).join(', ')}`,
        '  ',
      ),
    ),
    '',
  ].join('\n')
}
