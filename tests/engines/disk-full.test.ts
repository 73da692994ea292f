import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { blocksOf } from '@shopwire/test-kit/pages/runbook'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { startHaproxy } from '@shopwire/test-kit/proxies/haproxy'
import { connect } from '@shopwire/test-kit/requests/connection'
import { requestBytes, sign } from '@shopwire/test-kit/requests/signed-request'
import { createAuthority, fillDisk, findPostgres, mountSmallDisk, until } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import { ageMemory, limitless, readMetric, startSystem } from '@shopwire/test-kit/systems'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const DISK = '256m'
const ORDERS_MAX = 2_000
const SOON_MS = 5_000
/** Longer than the three checks after which HAProxy takes a process out of use, and than two trial writes. */
const FULL_MS = 3_000

test('threat 11: a full disk is reported by /readyz, /status, log and metric within seconds, and so is the recovery; behind the proxy reads go on', async ({
  skip,
  annotate,
}) => {
  const mounted = await mountSmallDisk(DISK)
  if (!mounted) return skip('a small file system cannot be mounted here')
  onTestFinished(mounted.remove)
  const disk = mounted.folder
  const system = await startSystem({
    admission: 'redis',
    settings: limitless,
    postgresDir: join(disk, 'postgres'),
    // After a vacuum of its catalogues PostgreSQL opens no session until a file is written again: reads would depend on the minute.
    postgresSettings: { autovacuum: 'off' },
  })
  onTestFinished(() => system.stop())
  const shop = openShop(system)
  const [item = ''] = await shop.sell(1)
  const buyer = await shop.openBuyer(100_000)
  const [api] = system.apis
  if (!api) throw new Error('one API process was asked for')
  await ageMemory(system)
  // Its nonces are on the full disk.
  const other = await system.startApi({ SHOPWIRE_ADMISSION: 'postgres' })
  const toOther = await connect(other.port)
  onTestFinished(() => toOther.close())
  const via = await connect(api.port)
  onTestFinished(() => via.close())
  const authority = await createAuthority()
  onTestFinished(() => authority.remove())
  const proxy = await startHaproxy({
    certificate: await authority.issue('IP:127.0.0.1'),
    apis: [{ port: api.port, healthPort: new URL(api.healthUrl).port }],
  })
  onTestFinished(() => proxy.stop())
  const behind = await connect(proxy.port, { ca: await readFile(authority.file, 'utf8') })
  onTestFinished(() => behind.close())
  const place = () => buyer.place(via, newOrder({ id: item }))
  const readyz = async () => {
    const response = await fetch(`${api.healthUrl}/readyz`)
    return `${response.status} ${await response.text()}`
  }
  const status = async () => (await (await fetch(`${api.url}/v1/status`)).json()) as { status: string }
  const metric = (series: string) => readMetric(api.healthUrl, series)
  expect((await place()).status).toBe(201)
  expect(await readyz()).toBe('200 ok\n')

  const filler = join(disk, 'filler')
  await fillDisk(filler)
  let [bought, refused] = [0, 0]
  while (refused === 0 && bought < ORDERS_MAX) {
    const answer = await place()
    if (answer.status === 201) bought += 1
    else refused += 1
  }
  const refusedMs = performance.now()
  expect(refused).toBe(1)
  await until(
    async () => (await readyz()).startsWith('200 degraded') && (await status()).status === 'degraded',
    SOON_MS,
    () => 'the full disk is not reported',
  )
  const noticedMs = performance.now() - refusedMs
  expect(await readyz()).toContain('the database cannot write: its disk is full. Free space there')
  expect(await status()).toMatchObject({ status: 'degraded', api: 'up' })
  expect(await metric('shopwire_database_writes_failing')).toBe(1)
  expect(await metric('shopwire_ready')).toBe(0)
  expect(api.logs()).toContain('its disk is full. Free space there or enlarge the volume')
  // It stays that way for as long as the disk is full, though reads succeed.
  const [seen, seenAtOther] = [new Set<string>(), new Set<string>()]
  for (const startedMs = performance.now(); performance.now() - startedMs < FULL_MS; ) {
    const read = () => sign(buyer.key, 'GET', '/v1/balance').bytes
    const { body } = await behind.send(requestBytes('GET', '/v1/status'))
    seen.add(`${(await behind.send(read())).status}, ${body.status}`)
    seenAtOther.add(`${(await toOther.send(read())).status}`)
  }
  expect([...seen]).toEqual(['200, degraded'])
  expect(['200', '503']).toEqual(expect.arrayContaining([...seenAtOther]))
  expect(await readyz()).toContain('its disk is full')

  // As docs/runbooks/machines.md says, with the filler for the reserve that the page has operators keep.
  const page = async (mark: string) => {
    const env = {
      PATH: `${findPostgres()}:${process.env.PATH}`,
      HEALTH: api.healthUrl,
      DATA: disk,
      RESERVE: filler,
      ADMIN_DATABASE: system.superuserUrl,
    }
    const script = (await blocksOf('machines#the-disk-is-full', mark)).join('\n')
    return (await run('bash', ['-euo', 'pipefail', '-c', script], { env })).stdout
  }
  expect(await page('first')).toMatch(/its disk is full[\s\S]*100%/)
  await page('repair')
  const freedMs = performance.now()
  await until(
    async () => (await readyz()).startsWith('200 ok') && (await status()).status === 'operational',
    SOON_MS,
    () => 'the end of the full disk is not reported',
  )
  await annotate(
    `${bought} orders on a full disk, noticed after ${Math.round(noticedMs)} ms, its end after ${Math.round(performance.now() - freedMs)} ms`,
  )
  expect(await metric('shopwire_database_writes_failing')).toBe(0)
  expect(await metric('shopwire_ready')).toBe(1)
  expect((await place()).status).toBe(201)
  expect(await page('find')).toMatch(/slot_name[\s\S]*archived_count[\s\S]*relname[\s\S]* kB/)
  expect(await page('prove')).toBe('ok\n')
  // The trial writes left nothing behind.
  expect(await system.query("select pg_relation_size('write_probe')")).toBe('0')
  await shop.expectCleanBooks()
})

/** A disk of its own, or undefined where nothing may be mounted. */
