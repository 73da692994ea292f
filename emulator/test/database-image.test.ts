import { cp, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SCHEMA } from '@shopwire/service/embedded'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startDatabase } from '../src/database/database.ts'
import { imageOf } from '../src/database/database-image.ts'

let caches: string

beforeEach(async () => {
  caches = await mkdtemp(join(tmpdir(), 'emulator-caches-'))
  vi.stubEnv('XDG_CACHE_HOME', caches)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(caches, { recursive: true, force: true })
})

const start = () =>
  startDatabase(
    undefined,
    () => {},
    () => {},
  )

/** A new database gets a new password, and a copy has that of its image. */
async function passwordOfNext(): Promise<string> {
  const { ownerUrl, stop } = await start()
  await stop()
  return new URL(ownerUrl).password
}

const images = () => readdir(join(caches, 'shopwire-emulator'))

test('the first start keeps an image that later ones copy; a damaged one is made anew', async () => {
  const first = await passwordOfNext()
  expect(await passwordOfNext()).toBe(first)

  const [image = ''] = await images()
  const file = join(caches, 'shopwire-emulator', image, 'data/global/pg_control')
  const { size } = await stat(file)
  await truncate(file, 100)
  expect(await passwordOfNext()).not.toBe(first)
  expect(await images()).toEqual([image])
  expect((await stat(file)).size).toBe(size)
})

test('emulators that start at once keep one image, and nothing unfinished', async () => {
  await Promise.all([passwordOfNext(), passwordOfNext()])
  expect(await images()).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)])
})

test('where no image can be kept, an emulator starts all the same', async () => {
  const file = join(caches, 'file')
  await writeFile(file, '')
  vi.stubEnv('XDG_CACHE_HOME', file)
  expect(await passwordOfNext()).not.toBe('')
})

test('another PostgreSQL and another schema have another image', async () => {
  const schema = join(caches, 'schema')
  await cp(SCHEMA, schema, { recursive: true })
  const same = await imageOf('18.4', pathToFileURL(`${schema}/`))
  expect(same.dir).toBe((await imageOf('18.4')).dir)
  expect((await imageOf('18.5')).dir).not.toBe(same.dir)
  await writeFile(join(schema, 'functions/one_more.sql'), 'select 1')
  expect((await imageOf('18.4', pathToFileURL(`${schema}/`))).dir).not.toBe(same.dir)
})
