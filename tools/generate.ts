import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiText, postmanText } from '@shopwire/contract/published'
import { findPostgres, provisionDatabase, startPostgres } from '@shopwire/engines'
import { completeLockfile } from './lockfile.ts'
import { sdkConstantsText, sdkTypesText } from './sdk-contract.ts'

/** Files that are made from others and committed, so that a reviewer sees them change. `--check` only compares. */
const OUTPUTS: readonly { path: string; make: () => Promise<string> }[] = [
  { path: 'service/schema.sql', make: dumpSchema },
  { path: 'package-lock.json', make: completeLockfile },
  { path: '.env.example', make: async () => envExample(await readSettings()) },
  { path: 'docs/openapi.json', make: async () => openApiText() },
  { path: 'docs/shopwire.postman_collection.json', make: async () => postmanText() },
  { path: 'sdk/src/contract.ts', make: async () => sdkConstantsText() },
  { path: 'sdk/src/types.ts', make: async () => sdkTypesText() },
  { path: 'docs/configuration.md', make: async () => configurationPage(await readSettings()) },
]

interface Setting {
  name: string
  default: string
  meaning: string
  secret: boolean
}

const isCheck = process.argv.includes('--check')
for (const { path, make } of OUTPUTS) {
  const wanted = await make()
  const found = await readFile(path, 'utf8').catch(() => '')
  if (wanted === found) continue
  if (isCheck) {
    process.stdout.write(`${path} is out of date: run "npm run generate" and commit the change\n`)
    process.exitCode = 1
  } else {
    await writeFile(path, wanted)
    process.stdout.write(`wrote ${path}\n`)
  }
}

async function dumpSchema(): Promise<string> {
  const postgres = await startPostgres()
  try {
    const { ownerUrl, appUrl } = await provisionDatabase(postgres, 'shopwire')
    const env = { ...process.env, ...minimalSettings(ownerUrl, appUrl) }
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

/** Drops what differs between versions and runs of pg_dump and says nothing about the schema. */
function tidy(dump: string): string {
  const lines = dump
    .split('\n')
    .filter((line) => !/^(--|SET |SELECT pg_catalog\.set_config|\\(un)?restrict)/.test(line))
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}

function minimalSettings(ownerUrl: string, appUrl: string): Record<string, string> {
  return {
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_DATABASE_OWNER_URL: ownerUrl,
    SHOPWIRE_DATABASE_URL: appUrl,
    SHOPWIRE_ENCRYPTION_KEYS: `generate:${Buffer.alloc(32, 7).toString('base64')}`,
  }
}

async function readSettings(): Promise<Setting[]> {
  const args = ['service/bin/admin.ts', 'config', '--reference', '--json']
  return (JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as { settings: Setting[] })
    .settings
}

function envExample(settings: Setting[]): string {
  const lines = settings.map(
    ({ name, default: value, meaning }) => `# ${meaning}\n${value === '' ? '# ' : ''}${name}=${value}\n`,
  )
  return `# Made by "npm run generate" from service/src/config.ts. Every setting also works as NAME_FILE.\n\n${lines.join('\n')}`
}

function configurationPage(settings: Setting[]): string {
  const rows = settings.map(
    ({ name, default: value, meaning, secret }) =>
      `| \`${name}\` | ${value === '' ? '' : `\`${value}\``} | ${meaning}${secret ? ' (secret)' : ''} |`,
  )
  return [
    '<!-- Made by "npm run generate" from service/src/config.ts; do not edit. -->',
    '# Configuration',
    '',
    'Settings come from the environment and nowhere else. Every one may be given as `NAME_FILE`, the path of a file that',
    'holds the value. All mistakes are reported at once, and `shopwire-admin config` prints what is in force with secrets',
    'masked. In production, secrets that everybody knows are refused.',
    '',
    '| Setting | Default | Meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
