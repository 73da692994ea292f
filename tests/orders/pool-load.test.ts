import { once } from 'node:events'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { startLoad, tally } from '@shopwire/test-kit/requests/load'
import { sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import { capture, limitless, newLinks, spawnProgram, startSystem } from '@shopwire/test-kit/systems'
import { expect, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

const LINKS = IS_SHORT ? 20_000 : 200_000
/** What the command loads in one transaction. */
const PART = 10_000
const LOADED_MS_MAX = 600_000

test(`${LINKS} links are loaded beside orders; the command is killed half-way and repeated: each is loaded once, no order fails`, {
  timeout: 2 * LOADED_MS_MAX,
}, async ({ annotate, onTestFinished }) => {
  const system = await startSystem({ admission: 'postgres', apis: 1, settings: limitless })
  onTestFinished(() => system.stop())
  await system.startWorker()
  const shop = openShop(system)
  const [item = ''] = await shop.sell(1)
  const buyer = await shop.openBuyer(100_000)
  const links = newLinks(LINKS)
  const file = await shop.writeLines(links)
  const loading = () => spawnProgram('admin', ['pool', 'load', item, file], system.settingsOf('operator'))
  const held = async () => Number(await system.query('select count(*) from link_fingerprints'))

  const killed = loading()
  const isPartThere = async () => (await held()) >= PART
  await until(isPartThere, LOADED_MS_MAX, () => 'no part is loaded')
  killed.kill('SIGKILL')
  await once(killed, 'close')
  const before = await held()
  expect(before % PART).toBe(0)
  expect(before).toBeLessThan(LINKS)

  const load = startLoad({
    ports: system.ports,
    connectionsPerPort: 2,
    pauseMs: () => 20,
    request: () => sign(buyer.key, 'POST', '/v1/orders', JSON.stringify(newOrder({ id: item }))),
  })
  const startedMs = performance.now()
  const repeated = loading()
  const [printed, complained] = [capture(repeated, 'stdout'), capture(repeated, 'stderr')]
  const [code] = await once(repeated, 'close')
  const outcomes = await load.stop()
  await annotate(
    JSON.stringify({ before, ms: Math.round(performance.now() - startedMs), ...tally(outcomes) }),
  )
  expect(code, complained()).toBe(0)
  expect(printed()).toContain(`Loaded ${LINKS - before} links`)
  expect(printed()).toContain(`Skipped ${before}, in this store before or twice in the list: line 1, 2,`)
  expect(await held()).toBe(LINKS)
  expect(Object.keys(tally(outcomes))).toEqual(['201'])

  const some = await shop.writeLines(links.slice(-100))
  expect((await system.runCommand('pool', 'load', item, some)).code).toBe(5)
  expect(await held()).toBe(LINKS)
})
