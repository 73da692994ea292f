import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startPostgres, startRedis } from '../src/index.ts'

let empty: string

beforeEach(() => {
  empty = mkdtempSync(join(tmpdir(), 'engines-test-'))
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(empty, { recursive: true })
})

test('a wrong SHOPWIRE_PG_BIN is reported with both ways to fix it', async () => {
  vi.stubEnv('SHOPWIRE_PG_BIN', empty)
  const failure = startPostgres()
  await expect(failure).rejects.toThrow(`PostgreSQL is not in ${empty}, where SHOPWIRE_PG_BIN points.`)
  await expect(failure).rejects.toThrow('apt-get install postgresql')
  await expect(failure).rejects.toThrow('set SHOPWIRE_PG_BIN to the folder')
})

test('a wrong SHOPWIRE_REDIS_BIN is reported with both ways to fix it', async () => {
  vi.stubEnv('SHOPWIRE_REDIS_BIN', empty)
  await expect(startRedis()).rejects.toThrow(/apt-get install redis-server.*set SHOPWIRE_REDIS_BIN/)
})

test('without Redis the error says what to install', async () => {
  vi.stubEnv('PATH', empty)
  await expect(startRedis()).rejects.toThrow(/Redis is not installed.*apt-get install redis-server/)
})
