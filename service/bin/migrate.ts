#!/usr/bin/env node
import { ConfigError, loadSchemaUrl } from '../src/config/config.ts'
import { SCHEMA } from '../src/installation.ts'
import { migrate } from '../src/platform/schema/migrate.ts'

/** For containers that migrate in a separate step; the same as `shopwire-admin migrate`. */
try {
  const url = loadSchemaUrl('migrate')
  const { applied, version } = await migrate(url, SCHEMA, (line) => process.stdout.write(`${line}\n`))
  process.stdout.write(`${applied.length} applied; the database is at version ${version}\n`)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = error instanceof ConfigError ? 2 : 1
}
