import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { packContext } from '../release/context.ts'

test('threat 63: the context of the image leaves out the settings and secrets of a store that runs from the same folder', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-context-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const root = join(folder, 'root')
  const kept = ['service/src/secrets/own.ts', 'deploy/compose/compose.yaml', '.dockerignore']
  const ignored = [
    '.env',
    'service/.env.local',
    'deploy/compose/.env',
    'deploy/compose/settings.env',
    'deploy/compose/worker.env',
    'deploy/compose/secrets/api_url',
    '.data/postgres/PG_VERSION',
    'sdk/node_modules/x.js',
  ]
  for (const path of [...kept, ...ignored]) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), 'text')
  }
  await cp(join(import.meta.dirname, '../../.dockerignore'), join(root, '.dockerignore'))
  const archive = await packContext(root, folder, '1.0.0')
  const { stdout } = await promisify(execFile)('tar', ['-tzf', join(folder, archive)])
  const packed = stdout.split('\n').filter((path) => path !== '' && !path.endsWith('/'))
  expect(packed.sort()).toEqual(kept.map((path) => `./${path}`).sort())
})
