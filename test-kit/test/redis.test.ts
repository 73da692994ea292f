import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { type Redis, type RedisOptions, startRedis } from '../redis/index.ts'
import { portIsFree } from '../servers/network/ports.ts'
import { descendantsOf, isAlive } from '../servers/processes/process-tree.ts'

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

const opened: Redis[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((redis) => redis.stop()))
})

async function open(options?: RedisOptions): Promise<Redis> {
  const redis = await startRedis(options)
  opened.push(redis)
  return redis
}

test('after stop() no process, no port and no folder is left', async () => {
  const redis = await open()
  expect(await redis.command('PING')).toBe('PONG')
  const pid = redis.pid() ?? 0

  await redis.stop()

  expect(isAlive(pid)).toBe(false)
  expect(descendantsOf(process.pid)).toEqual([])
  expect(() => statSync(redis.dir)).toThrow('ENOENT')
  await portIsFree(redis.port)
})

test('parses every kind of reply, complete and in UTF-8', async () => {
  const redis = await open()
  const long = 'ü'.repeat(300_000)
  expect(await redis.command('SET', 'long', long)).toBe('OK')
  expect(await redis.command('GET', 'long')).toBe(long)
  expect(await redis.command('GET', 'absent')).toBeNull()
  expect(await redis.command('RPUSH', 'list', 'a', '')).toBe(2)
  expect(
    await redis.command('EVAL', "return {1, {'a', false}, redis.call('LRANGE', 'list', 0, -1)}", '0'),
  ).toEqual([1, ['a', null], ['a', '']])
  await expect(redis.command('INCR', 'long')).rejects.toThrow('not an integer')
})

test('by default nothing is persisted and nothing is evicted', async () => {
  const redis = await open()
  for (const [name, value] of [
    ['save', ''],
    ['appendonly', 'no'],
    ['maxmemory-policy', 'noeviction'],
    ['bind', '127.0.0.1'],
    ['protected-mode', 'yes'],
  ] as const) {
    expect(await redis.command('CONFIG', 'GET', name)).toEqual([name, value])
  }
})

test('is empty after a kill and restart without persistence', async () => {
  const redis = await open()
  await redis.command('SET', 'key', 'value')
  await redis.kill9()
  await expect(redis.command('PING')).rejects.toThrow('ECONNREFUSED')
  await redis.start()
  expect(await redis.command('DBSIZE')).toBe(0)
})

test('keeps data in an append-only file over a kill, and drops it when started empty', async () => {
  const redis = await open({ settings: { appendonly: 'yes', appendfsync: 'always' } })
  await redis.command('SET', 'key', 'value')
  await redis.kill9()
  await redis.start()
  expect(await redis.command('GET', 'key')).toBe('value')
  await redis.kill9()
  await redis.start({ empty: true })
  expect(await redis.command('DBSIZE')).toBe(0)
})

test('a snapshot written at shutdown is loaded by the next start in the same folder', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'engines-test-'))
  try {
    const first = await open({ dir, settings: { save: '3600 1' } })
    await first.command('SET', 'key', 'value')
    await first.stop()
    const second = await open({ dir, settings: { save: '3600 1' } })
    expect(await second.command('GET', 'key')).toBe('value')
    await second.stop()
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

test('a paused server does not answer; resumed it answers the pending commands', async () => {
  const redis = await open()
  redis.pause()
  const answer = redis.command('PING')
  const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 300, 'silence'))])
  expect(first).toBe('silence')
  redis.resume()
  expect(await answer).toBe('PONG')
})

test('a paused server can be stopped', async () => {
  const redis = await open()
  redis.pause()
  await redis.stop()
  expect(redis.pid()).toBeUndefined()
})

test('a password in the settings is in the url and used by command()', async () => {
  const redis = await open({ settings: { requirepass: 'hush' } })
  expect(redis.url).toBe(`redis://:hush@127.0.0.1:${redis.port}`)
  expect(await redis.command('PING')).toBe('PONG')
})

test('a server that cannot start reports the reason and leaves nothing behind', async () => {
  await expect(startRedis({ settings: { 'no-such-setting': 'yes' } })).rejects.toThrow('no-such-setting')
  expect(descendantsOf(process.pid)).toEqual([])
})
