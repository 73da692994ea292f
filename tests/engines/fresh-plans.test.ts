import { readdir, readFile } from 'node:fs/promises'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { until } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import { limitless, startSystem } from '@shopwire/test-kit/systems'
import { expect, test } from 'vitest'

const SOON_MS = 30_000
const COST_MAX = 100_000
/** PostgreSQL adds it to a scan that a function of ours has switched off and that it takes all the same, as for a table of one row. */
const SWITCHED_OFF = 1e10
const ORDERS = 20
/** PostgreSQL compiles what costs more than its jit_above_cost, and says so. */
const EXPLAINED = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  'auto_explain.log_nested_statements': 'on',
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_directory: 'log',
}

interface Planned {
  readonly program: string
  readonly text: string
  readonly cost: number
  readonly isCompiled: boolean
}

test('on a store whose tables have never been analysed, no statement is compiled, and none is planned as an expensive one', async ({
  onTestFinished,
}) => {
  const system = await startSystem({
    admission: 'postgres',
    settings: limitless,
    postgresSettings: EXPLAINED,
  })
  onTestFinished(() => system.stop())
  const shop = openShop(system)
  const [item = ''] = await shop.sell(1)
  await shop.stock(item, ORDERS + 1)
  await system.startWorker()
  await system.startDashboard()
  const buyer = await shop.openBuyer(ORDERS)
  const [port = 0] = system.ports
  for (let n = 0; n < ORDERS; n += 1) await buyer.settle(port, newOrder({ id: item, qty: 1 }))
  await until(
    async () => (await buyer.listOrders(port)).every(({ status }) => status === 'delivered'),
    SOON_MS,
    () => 'not every order is delivered',
  )
  await system.admin('orders', 'list')

  const planned = await plansOf(system.postgres.dir)
  const programs = new Set(planned.map(({ program }) => program))
  for (const program of ['api', 'worker', 'dashboard', 'admin'])
    expect([...programs], program).toContain(`shopwire-${program}`)
  for (const step of ['place_orders', 'take_for_orders', 'deliver_orders'])
    expect(
      planned.some(({ text }) => text.includes(step)),
      step,
    ).toBe(true)
  expect(planned.filter(({ isCompiled }) => isCompiled)).toEqual([])
  expect(planned.filter(({ cost }) => cost % SWITCHED_OFF > COST_MAX)).toEqual([])
})

async function plansOf(dir: string): Promise<Planned[]> {
  const folder = `${dir}/data/log`
  const texts = await Promise.all(
    (await readdir(folder))
      .filter((name) => name.endsWith('.json'))
      .map((name) => readFile(`${folder}/${name}`, 'utf8')),
  )
  const lines = texts.flatMap((text) => text.trim().split('\n'))
  return lines.flatMap((line) => {
    const { application_name: program = '', message = '' } = JSON.parse(line)
    const [, plan] = /^duration: .* plan:\n(\{.*)$/s.exec(message) ?? []
    if (plan === undefined || !program.startsWith('shopwire-')) return []
    const { 'Query Text': text, Plan, JIT } = JSON.parse(plan)
    return [{ program, text, cost: Plan['Total Cost'], isCompiled: JIT !== undefined }]
  })
}
