import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Shopwire, webhooks } from '@shopwire/sdk'
import { type Relay, startRelay } from '@shopwire/test-kit/proxies/relay'
import { afterAll, describe, expect, test } from 'vitest'
import { readServerSentEvents } from '../src/webhooks/server-sent-events.ts'
import { emulatedStore, folder, ITEM, program, receiver, shopwire, strangersEnv } from './support.ts'

const store = emulatedStore()
const lines: Relay[] = []

afterAll(async () => {
  await Promise.all(lines.map((line) => line.close()))
})

const { run } = store

describe('trigger', () => {
  const SECRET = 'whsec_local'
  const trigger = (...args: string[]) =>
    shopwire(['trigger', ...args], { env: { SHOPWIRE_WEBHOOK_SECRET: SECRET } })

  test.each(['order.accepted', 'order.delivered', 'order.cancelled', 'catalogue.changed', 'test'])(
    'trigger signs %s like the store and marks it as simulated',
    async (event) => {
      const { url, arrivals } = await receiver()
      const { code, stderr } = await trigger(event, '--to', url)
      expect(code).toBe(0)
      expect(stderr).toContain('SIMULATED')
      const [first] = arrivals
      if (!first) throw new Error('nothing arrived')
      const unwrapped = await webhooks.unwrap(first.body, first.headers, { secrets: SECRET })
      expect(unwrapped.event).toBe(event)
      expect(first.headers['x-shopwire-simulated']).toBe('true')
    },
  )

  test('trigger supports overrides, several events, and the same event again', async () => {
    const { url, arrivals } = await receiver()
    await trigger(
      'order.delivered',
      '--to',
      url,
      '--times',
      '2',
      '--override',
      'data.order.total_cents=500',
      '--override',
      'data.order.id=ord_x',
    )
    await trigger('test', '--to', url, '--times', '2', '--same-id')
    const events = arrivals.map(({ body }) => JSON.parse(body))
    expect(events[0].data.order).toMatchObject({ total_cents: 500, id: 'ord_x' })
    expect(events[0].id).not.toBe(events[1].id)
    expect(events[2]).toEqual(events[3])
  })

  test('with an emulator trigger signs with the secret of listen', async () => {
    const { url, arrivals } = await receiver()
    expect((await run('trigger', 'test', '--to', url)).code).toBe(0)
    const secrets = (await run('listen', '--print-secret')).stdout.trim()
    const [first] = arrivals
    expect(await webhooks.unwrap(first?.body ?? '', first?.headers ?? {}, { secrets })).toMatchObject({
      event: 'test',
    })
  })

  test('trigger exits with 1 when the receiver refuses and 7 without an answer, and refuses a public address', async () => {
    const { url } = await receiver(500)
    expect(await trigger('test', '--to', url)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('500'),
    })
    expect((await trigger('test', '--to', 'localhost:1')).code).toBe(7)
    expect((await trigger('test', '--to', 'http://8.8.8.8/hooks')).stderr).toContain('--anywhere')
    expect((await trigger('test', '--to', '192.0.2.1')).code).toBe(2)
    expect((await trigger('test', '--to', url, '--override', 'data.nope.deep=1')).code).toBe(2)
    expect((await shopwire(['trigger', 'test', '--to', url])).stderr).toContain('no webhook secret')
  })
})

describe('webhook', () => {
  test('webhook set shows the secret once, webhook shows the health, webhook delete asks first', async () => {
    const url = 'http://localhost:3000/hooks'
    const first = JSON.parse((await run('webhook', 'set', url, '--json')).stdout)
    expect(first).toMatchObject({ webhook_url: url, secret: expect.stringMatching(/^whsec_/) })
    const again = await run('webhook', 'set', url)
    expect(again.stdout).not.toContain('whsec_')
    expect((await run('webhook')).stdout).toContain(url)
    expect((await run('webhook', 'delete')).code).toBe(2)
    expect((await run('webhook', 'delete', '--yes')).code).toBe(0)
    const shown = await run('webhook', 'set', url)
    expect(shown.stdout).toContain('shown once, now, and never again')
    await run('webhook', 'delete', '--yes')
  })

  test('verify checks a saved event and names how it was changed', async () => {
    const here = await folder()
    const secret = 'whsec_saved'
    const old = Math.floor(Date.now() / 1000) - 10_000
    const { body, headers } = await webhooks.sign(
      { event: 'test', data: { message: 'hi' } },
      { secret, timestamp: old },
    )
    const [bodyFile, headerFile, secretFile] = ['body.json', 'headers.txt', 'secret.txt'].map((name) =>
      join(here, name),
    ) as [string, string, string]
    await writeFile(
      headerFile,
      Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\r\n'),
    )
    await writeFile(secretFile, `${secret}\n`)
    const verify = async (text: string, ...more: string[]) => {
      await writeFile(bodyFile, text)
      const ended = await shopwire([
        'webhook',
        'verify',
        '--file',
        bodyFile,
        '--headers',
        headerFile,
        '--secret-file',
        secretFile,
        '--json',
        ...more,
      ])
      return ended.code === 0 ? JSON.parse(ended.stdout) : JSON.parse(ended.stderr).error
    }
    expect(await verify(body, '--ignore-time')).toMatchObject({ ok: true, event: 'test' })
    expect(await verify(body)).toMatchObject({
      type: 'stale',
      next: expect.stringContaining('--ignore-time'),
    })
    expect(await verify(`${body}\n`, '--ignore-time')).toMatchObject({
      type: 'no_match',
      next: expect.stringContaining('line break'),
    })
    expect(await verify(JSON.stringify(JSON.parse(body), null, 2), '--ignore-time')).toMatchObject({
      next: expect.stringContaining('formatted'),
    })
    await writeFile(secretFile, 'whsec_other')
    expect(await verify(body, '--ignore-time')).toMatchObject({
      type: 'no_match',
      next: expect.stringContaining('secret'),
    })
  })
})

describe('listen', () => {
  /** Runs `listen` until it is interrupted. */
  async function listening(args: readonly string[], extra: NodeJS.ProcessEnv = store.env) {
    const child = spawn(process.execPath, [program, 'listen', ...args], { env: strangersEnv(extra) })
    const said = { out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.err += text
    })
    const code = new Promise<number | null>((resolve) => child.once('close', resolve))
    return {
      said,
      async stop() {
        child.kill('SIGINT')
        return code
      },
    }
  }
  const shop = () =>
    new Shopwire({
      keyId: store.emulator.key.id,
      secret: store.emulator.key.secret,
      baseUrl: store.emulator.baseUrl,
    })
  const endpoint = async () => (await store.emulator.control<{ webhook: unknown }>('GET', '')).webhook

  test('listen forwards bytes and signatures unchanged and restores the account at the end', async () => {
    const { url, arrivals } = await receiver()
    const secret = (await run('listen', '--print-secret')).stdout.trim()
    const ears = await listening(['--forward-to', url, '--events', 'order.*'])
    await expect.poll(() => ears.said.err).toContain('Ready.')
    expect(ears.said.err).not.toContain(secret)
    const order = await shop().orders.create({ items: [{ id: ITEM }], idempotencyKey: 'listen-0001' })
    await shop().webhookEndpoint.test()
    await expect.poll(() => arrivals.length).toBe(2)
    for (const { body, headers } of arrivals) {
      const event = await webhooks.unwrap(body, headers, { secrets: secret })
      expect(event).toMatchObject({ data: { order: { id: order.id } } })
    }
    await expect
      .poll(() => ears.said.out)
      .toMatch(/--> order\.delivered +evt_\w+ +ord_\w+\n.*<-- 200 +\d+ms +POST/)
    expect(await ears.stop()).toBe(0)
    expect(ears.said.out).not.toContain('--> test')
    expect(await endpoint()).toBeNull()
  })

  test('with --format json listen prints one line per event, and reports an unreachable receiver', async () => {
    const ears = await listening(['--forward-to', '127.0.0.1:2', '--format', 'json'])
    await expect.poll(endpoint).not.toBeNull()
    await shop().webhookEndpoint.test()
    await expect.poll(() => ears.said.out).toContain('\n')
    expect(JSON.parse(ears.said.out.trim())).toMatchObject({
      event: 'test',
      forwarded: { status: null, error: 'No server listens there' },
    })
    await ears.stop()
  })

  test('listen keeps an existing endpoint', async () => {
    const { url } = await receiver()
    await store.emulator.control('POST', '/webhook', { url, secret: 'whsec_mine' })
    expect((await run('listen', '--print-secret')).stdout).toBe('whsec_mine\n')
    const ears = await listening([])
    await expect.poll(() => ears.said.err).toContain(`also sends to ${url}`)
    await ears.stop()
    expect(await endpoint()).toMatchObject({ url })
    await store.emulator.control('POST', '/webhook', { url: null })
  })

  test('listen reconnects after a broken stream without missing events', async () => {
    const { url, arrivals } = await receiver()
    const line = await breakableLine(Number(new URL(store.emulator.baseUrl).port))
    const ears = await listening(['--forward-to', url], {
      ...store.env,
      SHOPWIRE_BASE_URL: `http://127.0.0.1:${line.port}/v1`,
    })
    await expect.poll(() => ears.said.err).toContain('Ready.')
    await shop().webhookEndpoint.test()
    await expect.poll(() => arrivals.length).toBe(1)
    line.cut()
    await expect.poll(() => ears.said.err).toContain('Reconnecting')
    await shop().webhookEndpoint.test()
    line.restore()
    await expect.poll(() => arrivals.length).toBe(2)
    const [first, second] = arrivals.map(({ body }) => JSON.parse(body).id)
    expect(first).not.toBe(second)
    expect(await ears.stop()).toBe(0)
    expect(await endpoint()).toBeNull()
  })

  test('listen says that a store needs a token', async () => {
    const { code, stderr } = await shopwire(['listen'], {
      env: { ...store.env, SHOPWIRE_BASE_URL: 'https://shop.example/v1' },
    })
    expect(code).toBe(2)
    expect(stderr).toContain('shopwire login')
  })
})

test('parses server-sent events however the stream is split', async () => {
  const text = 'retry: 1000\n\nid: 1\nevent: delivery\ndata: {"a":\ndata: 1}\n\n:\n\nid: 2\r\ndata: ö\r\n\r\n'
  const bytes = Buffer.from(text)
  async function* cut(size: number) {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  for (const size of [1, 3, 1000]) {
    const events = []
    for await (const event of readServerSentEvents(cut(size))) events.push(event)
    expect(events).toEqual([
      { id: '1', event: 'delivery', data: '{"a":\n1}' },
      { id: '2', event: 'message', data: 'ö' },
    ])
  }
})

/** A TCP proxy to a local port whose connections can be cut. */
async function breakableLine(port: number) {
  let isCut = false
  const relay = await startRelay(
    () => ({ port }),
    ({ cut }) => {
      if (isCut) cut()
      return {}
    },
  )
  lines.push(relay)
  return {
    port: relay.port,
    cut() {
      isCut = true
      relay.cut()
    },
    restore() {
      isCut = false
    },
  }
}
