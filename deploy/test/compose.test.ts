import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const DEPLOY = fileURLToPath(new URL('../', import.meta.url))

interface Service {
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
}

/** As Compose merges the files: a volume at the same place replaces the earlier one. */
function mounts(service: string): Map<string, string> {
  const files = ['compose.yaml', 'compose.backup.yaml'].map(
    (name) =>
      parse(readFileSync(join(DEPLOY, 'compose', name), 'utf8'), { merge: true }) as {
        services: Readonly<Record<string, Service>>
      },
  )
  return new Map(
    files
      .flatMap(({ services }) => services[service]?.volumes ?? [])
      .map((volume): [string, string] => {
        const [source = '', target = ''] = volume.replace(/\$\{[^}]*\}/, 'chosen').split(':')
        return [target, source]
      }),
  )
}

test('backups write their metrics into the folder that node exporter reads, and its users may', () => {
  const text = readFileSync(join(DEPLOY, 'compose/compose.backup.yaml'), 'utf8')
  const { services } = parse(text, { merge: true }) as { services: Readonly<Record<string, Service>> }
  const folder = services.backup?.environment?.SHOPWIRE_BACKUP_METRICS?.replace(/\/[^/]+\.prom$/, '') ?? ''
  const written = mounts('backup').get(folder)
  expect(written).toBe('backup-state')
  const exporter = readFileSync(join(DEPLOY, 'compose/compose.yaml'), 'utf8')
  const read = /--collector\.textfile\.directory=([^\],\s]+)/.exec(exporter)?.[1] ?? ''
  expect(mounts('node-exporter').get(read)).toBe(written)
  // "shopwire-admin backup status" and node exporter run as users of their own.
  expect(mounts('admin').get(folder)).toBe(written)
  const image = readFileSync(join(DEPLOY, 'backup/Dockerfile'), 'utf8')
  expect(image).toMatch(new RegExp(`install -d -o postgres -g postgres -m 755 ${folder}$`, 'm'))
})
