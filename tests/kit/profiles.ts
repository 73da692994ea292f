import assert from 'node:assert/strict'
import { BASE_PATH } from '@shopwire/contract'
import { signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { newItem, newLinks } from '@shopwire/test-kit/systems'
import { Agent, fetch } from 'undici'
import { eventually } from './eventually.ts'
import type { Given } from './image.ts'
import { writeBlock } from './page.ts'
import { newStore, type Store } from './store.ts'

const API = 'https://api.localhost'
const DASHBOARD = 'https://dashboard.localhost'
const AUTHORITY = '/data/caddy/pki/authorities/local/root.crt'

/** All but Grafana, which Debian does not have. */
const SERVICES = [
  'api',
  'worker',
  'dashboard',
  'tls',
  'redis',
  'mail',
  'prometheus',
  'alertmanager',
  'node-exporter',
]

/** All profiles at once, and for each something that works only when its service does its part. */
export async function proveProfiles({ engine }: Given) {
  const store = await newStore(engine, 'profiles')
  try {
    await store.shopwire(
      'init',
      '--api',
      API,
      '--dashboard',
      DASHBOARD,
      '--tls',
      '--redis',
      '--mail',
      '--monitoring',
    )
    await store.shopwire('up', ...SERVICES)
    const seen = {
      tls: await sellThroughProxy(store),
      redis: await countNonces(store),
      mail: await readInvitation(store),
      monitoring: await watchMetrics(),
    }
    await writeBlock(
      'profiles',
      [
        '| Profile | Seen |',
        '|---|---|',
        ...Object.entries(seen).map(([profile, what]) => `| \`${profile}\` | ${what} |`),
      ],
      'tests/README.md',
    )
    return seen
  } finally {
    await store.remove()
  }
}

/** An order by HTTPS, and the dashboard's page, both with certificates that Caddy made. */
async function sellThroughProxy(store: Store): Promise<string> {
  const operator = await store.openOperator()
  const item = newItem(250)
  await operator.importItems([item])
  await operator.loadPool(item.id, newLinks(1))
  const { key } = await operator.createAccount({ balanceCents: 1_000 })
  const ca = await eventually('an authority of Caddy', () =>
    store.compose('exec', '-T', 'tls', 'cat', AUTHORITY),
  )
  // Names below localhost are this machine, but not every resolver says so.
  const lookup = (_: string, __: object, found: (error: null, all: object[]) => void) =>
    found(null, [{ address: '127.0.0.1', family: 4 }])
  const dispatcher = new Agent({ connect: { ca, lookup: lookup as never } })
  try {
    await eventually('the status by HTTPS', async () => {
      assert.equal((await fetch(`${API}${BASE_PATH}/status`, { dispatcher })).status, 200)
    })
    const target = `${BASE_PATH}/orders`
    const body = JSON.stringify({ idempotency_key: 'by-https', items: [{ id: item.id, qty: 1 }] })
    const headers = { 'content-type': 'application/json', ...signedHeaders(key, 'POST', target, body) }
    const bought = await fetch(`${API}${target}`, { method: 'POST', headers, body, dispatcher })
    assert.equal(bought.status, 201, await bought.text())
    const page = await (await fetch(`${DASHBOARD}/`, { dispatcher })).text()
    assert.match(page, /<title>.*Shopwire/)
    const plain = await fetch(`http://api.localhost${BASE_PATH}/status`, { dispatcher, redirect: 'manual' })
    assert.deepEqual([plain.status, plain.headers.get('location')], [308, `${API}${BASE_PATH}/status`])
  } finally {
    await dispatcher.close()
  }
  return 'an order by HTTPS, the dashboard by HTTPS, plain HTTP redirected; certificates of Caddy’s own authority'
}

/** The signed order above left its nonce there. */
async function countNonces(store: Store): Promise<string> {
  const script = 'REDISCLI_AUTH="$(cat /run/secrets/redis_password)" redis-cli --raw dbsize'
  const keys = Number(await store.compose('exec', '-T', 'redis', 'sh', '-c', script))
  assert(keys > 0, 'Redis holds nonces and limits')
  const refused = await store.compose('exec', '-T', 'redis', 'redis-cli', 'dbsize')
  assert.match(refused, /NOAUTH/)
  return 'nonces and limits of that order are in Redis, which refuses whoever has no password'
}

async function readInvitation(store: Store): Promise<string> {
  const operator = await store.openOperator()
  const { account_id } = await operator.createAccount({ name: 'Acme Bots' })
  await operator.admin('people', 'invite', account_id, '--email', 'owner@acme.test', '--role', 'owner')
  const mail = await eventually('the invitation', async () => {
    const caught = (await (await fetch('http://127.0.0.1:1080/email')).json()) as {
      to: { address: string }[]
      text: string
    }[]
    const found = caught.find(({ to }) => to.some(({ address }) => address === 'owner@acme.test'))
    assert(found)
    return found
  })
  assert(mail.text.includes(`${DASHBOARD}/`), 'the link of the invitation leads to the dashboard')
  return 'an invitation sent by SMTP, with a link to the dashboard'
}

async function watchMetrics(): Promise<string> {
  const ask = async (url: string) => (await (await fetch(url)).json()) as never
  const jobs = await eventually('targets that are up', async () => {
    const { data } = (await ask('http://127.0.0.1:9090/api/v1/targets')) as {
      data: { activeTargets: { labels: { job: string }; health: string; lastError: string }[] }
    }
    const down = data.activeTargets.filter(({ health }) => health !== 'up')
    assert.deepEqual(
      down.map(({ labels, lastError }) => `${labels.job}: ${lastError}`),
      [],
    )
    return data.activeTargets.map(({ labels }) => labels.job).sort()
  })
  assert.deepEqual(jobs, ['alertmanager', 'node', 'shopwire', 'shopwire', 'shopwire'])
  const { data } = (await ask('http://127.0.0.1:9090/api/v1/rules')) as {
    data: { groups: { rules: { health: string }[] }[] }
  }
  const rules = data.groups.flatMap((group) => group.rules)
  assert(rules.length > 0)
  const sold = await eventually('the order in a query', async () => {
    const { data: found } = (await ask(
      'http://127.0.0.1:9090/api/v1/query?query=shopwire_orders_delivered_total',
    )) as {
      data: { result: { value: [number, string] }[] }
    }
    const [first] = found.result
    assert.equal(first?.value[1], '1')
    return first?.value[1]
  })
  await eventually('an alert that always fires, in Alertmanager', async () => {
    const alerts = (await ask('http://127.0.0.1:9093/api/v2/alerts')) as { labels: { severity: string } }[]
    assert(alerts.some(({ labels }) => labels.severity === 'none'))
  })
  return `Prometheus scrapes ${[...new Set(jobs)].join(', ')} (API, worker and dashboard), evaluates its rules and has seen ${sold} order delivered; Alertmanager got the alert that always fires`
}
