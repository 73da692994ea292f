import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Shopwire, webhooks } from '@shopwire/sdk'
import { type Arrival, startWebhookReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import type { Key } from '@shopwire/test-kit/requests/signed-request'
import { type ApiProcess, START_MS_MAX, type System, startSystem } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

/** `shopwire listen` and `shopwire orders prove` on a store made of processes, with a token as the dashboard makes one. */
const PROGRAM = fileURLToPath(new URL('../../cli/bin/shopwire.ts', import.meta.url))
const ITEM = '1144058340327047001'
const LINK = 'https://gift.example/secret-of-listen-'
const WAIT = { timeout: 30_000 }

let system: System
let dashboard: ApiProcess
let account_id: string
let key: Key
let folder: string
let links = 0
const children: ChildProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-listen-'))
  system = await startSystem({ admission: 'postgres' })
  await system.startWorker()
  dashboard = await system.startDashboard()
  const made = await system.createAccount({ name: 'Listening Ltd', balanceCents: 100_000 })
  account_id = made.account_id
  key = made.key
  await system.importItems([
    { id: ITEM, name: 'Ring', type: 'decoration', collection: 'Basics', price_cents: 499 },
  ])
  // A production endpoint, which gets every event as ever: here, a delivery for each of them.
  await system.query(`
    insert into webhook_endpoints (account_id, id, url, set_by, created_at)
    values ('${account_id}', 'end_1', 'https://hooks.shop.invalid/events', 'test', now())`)
  await system.query(`
    insert into people (id, name, email, created_at, updated_at) values ('per_1', 'Ada', 'ada@example.com', now(), now());
    insert into memberships (account_id, person_id, role, created_at) values ('${account_id}', 'per_1', 'developer', now())`)
}, START_MS_MAX)
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await system?.stop()
  await rm(folder, { recursive: true, force: true })
})

let tokens = 0
async function makeToken({ withLinks = false, rights = '{events:listen,orders:prove}' } = {}) {
  tokens += 1
  const token = `swp_${randomBytes(32).toString('base64url')}`
  const hash = createHash('sha256').update(token).digest('hex')
  await system.query(`
    insert into personal_tokens (account_id, id, person_id, name, token_hash, rights, with_links, created_at, expires_at)
    values ('${account_id}', 'pat_${tokens}', 'per_1', 'laptop', decode('${hash}', 'hex'), '${rights}', ${withLinks}, now(),
            now() + interval '1 day')`)
  return {
    token,
    revoke: () => system.query(`update personal_tokens set revoked_at = now() where id = 'pat_${tokens}'`),
  }
}

const environment = (token?: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: folder,
  XDG_CONFIG_HOME: folder,
  ...(token !== undefined && { SHOPWIRE_DASHBOARD_URL: dashboard.url, SHOPWIRE_TOKEN: token }),
})

function shopwire(args: readonly string[], env: NodeJS.ProcessEnv, input = '') {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env })
  children.push(child)
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text
  })
  child.stdin.on('error', () => {}).end(input)
  const ended = once(child, 'close').then(([code]) => ({ ...said, code: code as number | null }))
  return { child, said, ended }
}

async function receiver() {
  const inbox = await startWebhookReceiver()
  inbox.answersWith(200)
  return inbox
}

const shop = () =>
  new Shopwire({
    baseUrl: `http://127.0.0.1:${system.ports[0]}/v1`,
    keyId: key.id,
    secret: key.secret,
    allowHttp: true,
  })

async function buy(idempotencyKey: string) {
  links += 1
  await system.loadPool(ITEM, [`${LINK}${links}`])
  return shop().orders.create({ items: [{ id: ITEM }], idempotencyKey })
}

const eventsOf = (arrivals: readonly Arrival[], order_id: string) =>
  arrivals.filter(({ data }) => data.order?.id === order_id)

describe('shopwire listen on a real store', () => {
  test('forwards live events, signed with its own secret and without links, while the endpoint keeps its deliveries', async () => {
    const { token } = await makeToken()
    const target = await receiver()
    const secret = (await shopwire(['listen', '--print-secret'], environment(token)).ended).stdout.trim()
    expect(secret).toMatch(/^whsec_/)
    const ears = shopwire(['listen', '--forward-to', target.url, '--events', 'order.*'], environment(token))
    await expect
      .poll(() => ears.said.stderr, WAIT)
      .toContain('https://hooks.shop.invalid/events keeps getting every event.')
    expect(ears.said.stderr).toContain('Ready. Listening to Listening Ltd')
    const { id } = await buy('listen-e2e-1')
    await expect.poll(() => eventsOf(target.arrivals, id).length, WAIT).toBe(2)
    for (const { body, headers } of eventsOf(target.arrivals, id)) {
      const event = await webhooks.unwrap(body, headers, { secrets: secret })
      expect(event.event).toMatch(/^order\.(accepted|delivered)$/)
    }
    expect(JSON.stringify(target.arrivals)).not.toContain(LINK)
    expect(JSON.stringify(target.arrivals)).toContain('link-masked.invalid')
    await expect.poll(() => ears.said.stdout, WAIT).toMatch(/--> order\.delivered\s+evt_\w+\s+ord_\w+/)
    expect(ears.said.stdout).toMatch(/<-- 200\s+\d+ms\s+POST 127\.0\.0\.1:/)
    expect(await system.query(`select count(*) from deliveries where account_id = '${account_id}'`)).toBe(
      await system.query(`select count(*) from events where account_id = '${account_id}'`),
    )
    ears.child.kill('SIGINT')
    expect((await ears.ended).code).toBe(0)
    await target.close()
  })

  test.skipIf(IS_SHORT)('a token with links: the forwarded body carries the links of the order', async () => {
    const { token } = await makeToken({ withLinks: true })
    const target = await receiver()
    const ears = shopwire(['listen', '--forward-to', target.url, '--format', 'json'], environment(token))
    await expect
      .poll(
        () => system.query('select last_used_at is not null from personal_tokens order by id desc limit 1'),
        WAIT,
      )
      .toBe('t')
    const { id } = await buy('listen-e2e-2')
    await expect.poll(() => eventsOf(target.arrivals, id).length, WAIT).toBe(2)
    const delivered = eventsOf(target.arrivals, id).find(({ body }) => body.includes('order.delivered'))
    const { links: sent } = await shop().orders.get(id)
    expect(JSON.parse(delivered?.body ?? '').data.order.links).toEqual(sent)
    const lines = ears.said.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.find(({ event, order_id }) => event === 'order.delivered' && order_id === id)).toMatchObject(
      {
        links: 'included',
        forwarded: { status: 200 },
      },
    )
    expect(ears.said.stdout).not.toContain(LINK)
    ears.child.kill('SIGINT')
    await ears.ended
    await target.close()
  })

  test.skipIf(IS_SHORT)('what happens while the dashboard restarts arrives afterwards, once', async () => {
    const { token } = await makeToken()
    const target = await receiver()
    const ears = shopwire(['listen', '--forward-to', target.url], environment(token))
    await expect.poll(() => ears.said.stderr, WAIT).toContain('Ready.')
    const before = await buy('listen-e2e-3')
    await expect.poll(() => eventsOf(target.arrivals, before.id).length, WAIT).toBe(2)
    await dashboard.kill('SIGKILL')
    const meanwhile = await buy('listen-e2e-4')
    await expect.poll(() => ears.said.stderr, WAIT).toContain('Reconnecting.')
    await dashboard.start()
    await expect.poll(() => eventsOf(target.arrivals, meanwhile.id).length, WAIT).toBe(2)
    const after = await buy('listen-e2e-5')
    await expect.poll(() => eventsOf(target.arrivals, after.id).length, WAIT).toBe(2)
    const ids = target.arrivals.map(({ headers }) => headers['x-webhook-id'])
    expect(new Set(ids).size).toBe(ids.length)
    ears.child.kill('SIGINT')
    await ears.ended
    await target.close()
  })

  test('ends with exit code 3 when the token is revoked; a token without the right is refused', async () => {
    const { token, revoke } = await makeToken()
    const ears = shopwire(['listen'], environment(token))
    await expect.poll(() => ears.said.stderr, WAIT).toContain('Ready.')
    await revoke()
    const { code, stderr } = await ears.ended
    expect([code, stderr.includes('revoked')]).toEqual([3, true])
    const narrow = await makeToken({ rights: '{orders:prove}' })
    const refused = await shopwire(['listen'], environment(narrow.token)).ended
    expect([refused.code, refused.stderr.includes('events:listen')]).toEqual([3, true])
  })
})

describe('shopwire login and orders prove on a real store', () => {
  const addProfile = () =>
    shopwire(
      ['profile', 'add', 'live', '--base-url', `http://127.0.0.1:${system.ports[0]}/v1`, '--key-id', key.id],
      environment(),
      key.secret,
    ).ended

  test.skipIf(IS_SHORT)(
    'login checks the token and stores it for this user alone; prove then shows every attempt',
    async () => {
      const { token } = await makeToken()
      expect((await addProfile()).code).toBe(0)
      const login = (input: string) =>
        shopwire(['login', '--dashboard-url', dashboard.url], environment(), input).ended
      expect(await login('sk_not_a_token')).toMatchObject({ code: 2 })
      expect(await login(`swp_${'x'.repeat(43)}`)).toMatchObject({ code: 3 })
      const file = join(folder, 'shopwire/profiles.json')
      expect(await readFile(file, 'utf8')).not.toContain('swp_')
      expect(await login(token)).toMatchObject({ code: 0 })
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      expect(JSON.parse(await readFile(file, 'utf8')).profiles.live).toMatchObject({
        token,
        dashboard_url: dashboard.url,
        secret: key.secret,
      })

      const { id } = await buy('prove-e2e-1')
      await shop().orders.create({ items: [{ id: ITEM }], idempotencyKey: 'prove-e2e-1' })
      const prove = (named: string, ...more: string[]) =>
        shopwire(['orders', 'prove', named, ...more], environment()).ended
      await expect
        .poll(async () => (await prove('prove-e2e-1', '--json')).stdout, WAIT)
        .toContain('"replayed": 1')
      const { code, stdout } = await prove(id)
      expect(code).toBe(0)
      expect(stdout).toContain('Bought once: 2 attempts, one order, one debit of $4.99.')
      expect(stdout).toMatch(/Debit\s+\w+\s+[−-]\$4\.99/)
      expect(await prove('nothing-with-this-key')).toMatchObject({ code: 4 })
    },
  )

  test('a store without a token: listen says how to get one', async () => {
    const env = { ...environment(), XDG_CONFIG_HOME: join(folder, 'other') }
    const { code, stderr } = await shopwire(['listen'], {
      ...env,
      SHOPWIRE_BASE_URL: 'https://store.invalid/v1',
      SHOPWIRE_API_KEY: key.id,
      SHOPWIRE_API_SECRET: key.secret,
    }).ended
    expect(code).toBe(2)
    expect(stderr).toContain('shopwire login')
  })
})
