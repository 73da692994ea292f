import { execFile } from 'node:child_process'
import { access, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { webhooks } from '@shopwire/sdk'
import { freePorts } from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BUN, DENO, installRuntime } from '../../sdk/test/runtimes/install.ts'
import { EXAMPLES, type ExampleOptions, type RunningExample, startCommand, startExample } from './example.ts'
import { ITEMS, makeFolder, openBuyer, SECRET, SECRET_PREVIOUS } from './example-buyer.ts'

/** Every example as its reader runs it: a process of its own, an emulator, real events over real sockets. */
const VECTORS = fileURLToPath(new URL('../../contract/vectors', import.meta.url))
const EMULATOR = fileURLToPath(new URL('../../emulator/bin/emulator.ts', import.meta.url))
const BRIDGE = fileURLToPath(new URL('./fetch-bridge.ts', import.meta.url))
const START_MS_MAX = 120_000
/** Each is 100 MB; a registry can be slow. */
const DOWNLOAD_MS_MAX = 400_000
const NOT_FOR_SALE = '99999999999999999'
const EXIT_TRY_AGAIN = 75

let emulator: Emulator

beforeAll(async () => {
  emulator = await startEmulator({ balanceCents: 50_000 })
}, START_MS_MAX)

afterAll(() => emulator?.stop())

// First, because the store announces catalogue changes once a minute, and later tests change prices too.
describe('catalogue-mirror', () => {
  test('equals the catalogue at the start, after an event and after a change without an event, and marks removed items', async () => {
    const buyer = await openBuyer(emulator)
    await buyer.listenAt()
    const id = await buyer.idOf(ITEMS.mirror)
    const { price_cents } = await buyer.shop.catalogue.get(id)
    const mirror = startExample(['catalogue-mirror/run.ts'], buyer.options)
    await expect.poll(mirror.printed).toContain('start: 12 changes')
    expect(buyer.mirrored()).toEqual(await buyer.catalogue())

    await emulator.control('POST', `/items/${id}`, { price_cents: price_cents + 1 })
    await expect.poll(mirror.printed).toContain(`price_cents: ${price_cents} → ${price_cents + 1}`)
    expect(mirror.printed()).toContain('event: 1 changes')
    expect(buyer.mirrored()).toEqual(await buyer.catalogue())
    await mirror.kill()

    // While it was away: a price changed, and something was sold that no longer is.
    await emulator.control('POST', `/items/${id}`, { price_cents })
    await expect.poll(async () => (await buyer.shop.catalogue.get(id)).price_cents).toBe(price_cents)
    buyer.inMirror((db) =>
      db.exec(
        `insert into items select '99999999999999999', 'Ghost', type, collection, 1, image, 1, null, null from items limit 1`,
      ),
    )
    const next = startExample(['catalogue-mirror/run.ts'], buyer.options)
    await expect.poll(next.printed).toContain('start: 2 changes')
    expect(next.printed()).toContain('- Ghost vanished')
    expect(buyer.mirrored()).toEqual(await buyer.catalogue())
    await next.kill()
  })

  test('the timer finds a change that no event announced', async () => {
    const buyer = await openBuyer(emulator)
    const id = await buyer.idOf(ITEMS.mirror)
    const options = { ...buyer.options, env: { ...buyer.options.env, MIRROR_EVERY_S: '0.2' } }
    const mirror = startExample(['catalogue-mirror/run.ts'], options)
    await expect.poll(mirror.printed).toContain('timer: 0 changes')
    await emulator.control('POST', `/items/${id}`, { sellable: false })
    await expect.poll(mirror.printed).toContain('sellable: 1 → 0')
    expect(buyer.mirrored()).toEqual(await buyer.catalogue())
    await emulator.control('POST', `/items/${id}`, { sellable: true })
  })
})

describe('buy-node', () => {
  test('buys, waits for delivery and never prints a link', async () => {
    const buyer = await openBuyer(emulator)
    const { code, lines } = await buyer.run('buy-node/buy.ts', await buyer.idOf(ITEMS.buy), '2')
    expect(code).toBe(0)
    const [order] = await buyer.orders()
    expect(order).toMatchObject({ status: 'delivered' })
    const { links } = await buyer.shop.orders.get(order?.id ?? '')
    expect(links).toHaveLength(2)
    expect(lines.at(-1)).toContain(`${order?.id} is delivered`)
    for (const link of links) expect(lines.join()).not.toContain(link)
  })

  test('reports an unknown outcome when every answer is lost, and the next run completes the same purchase', async () => {
    const buyer = await openBuyer(emulator)
    await buyer.arm('lost_answer', { times: 3 })
    const lost = await buyer.run('buy-node/buy.ts', await buyer.idOf(ITEMS.buy))
    expect(lost).toMatchObject({ code: EXIT_TRY_AGAIN })
    // This run asks for an item that does not exist, so that it buys nothing itself.
    const { lines } = await buyer.run('buy-node/buy.ts', NOT_FOR_SALE)
    expect(lines.join('\n')).toMatch(/was bought before[\s\S]*is delivered/)
    expect(await buyer.orders()).toHaveLength(1)
  })

  test('completes the same purchase in its next run after it was killed while buying', async () => {
    const buyer = await openBuyer(emulator)
    await buyer.arm('slow_answer', { ms: 60_000 })
    const killed = startExample(['buy-node/buy.ts', await buyer.idOf(ITEMS.buy)], buyer.options)
    await expect.poll(buyer.orders).toHaveLength(1)
    await killed.kill()
    const { lines } = await buyer.run('buy-node/buy.ts', NOT_FOR_SALE)
    expect(lines.join('\n')).toMatch(/was bought before[\s\S]*is delivered/)
    expect(await buyer.orders()).toHaveLength(1)
  })

  test.each([
    ['price_change', 1, 'The price has changed'],
    ['sold_out', 1, 'It was sold out just now'],
    ['supplier_failure', 0, 'refunded'],
  ] as const)('%s ends with exit code %i', async (fault, code, words) => {
    const buyer = await openBuyer(emulator)
    const id = await buyer.idOf(ITEMS.changes)
    await emulator.control('POST', `/items/${id}`, { sellable: true })
    await buyer.arm(fault)
    const first = await buyer.run('buy-node/buy.ts', id)
    expect(first).toMatchObject({ code, printed: expect.stringContaining(words) })
    await emulator.control('POST', `/items/${id}`, { sellable: true })
    // What ended is not tried again.
    expect((await buyer.run('buy-node/buy.ts', NOT_FOR_SALE)).printed).not.toContain('Unfinished')
    expect(await buyer.balanceCents()).toBe(50_000)
  })

  test('buys nothing when the balance is too low', async () => {
    const buyer = await openBuyer(emulator, { balanceCents: 100 })
    const { code, printed } = await buyer.run('buy-node/buy.ts', await buyer.idOf(ITEMS.buy))
    expect({ code, printed }).toMatchObject({
      code: 1,
      printed: expect.stringContaining('balance is too low'),
    })
    expect(await buyer.orders()).toEqual([])
  })
})

describe('receivers print an event once when it is delivered twice, accept two secrets, and refuse a forged event', () => {
  const onNode = (file: string) => async (options: ExampleOptions) => startExample([file], options)
  const bridged = (file: string) => async (options: ExampleOptions) =>
    startCommand(process.execPath, [BRIDGE, `file://${EXAMPLES}${file}`], options)
  const receivers: Record<string, (options: ExampleOptions) => Promise<RunningExample>> = {
    express: onNode('receiver-express/server.ts'),
    fastify: onNode('receiver-fastify/server.ts'),
    hono: onNode('receiver-hono/server.ts'),
    next: bridged('receiver-next/app/hooks/route.ts'),
    workers: bridged('receiver-workers/worker.ts'),
    bun: async (options) => startCommand(runtimes.bun ?? '', [`${EXAMPLES}receiver-bun/server.ts`], options),
    deno: async (options) => {
      const allowed = ['net', 'env', 'read', 'write'].map((what) => `--allow-${what}`)
      return startCommand(
        runtimes.deno ?? '',
        ['run', ...allowed, `${EXAMPLES}receiver-deno/server.ts`],
        options,
      )
    },
  }
  const runtimes: Record<string, string | undefined> = {}

  beforeAll(async () => {
    const found = [BUN, DENO].map((one) => installRuntime(one).catch(() => undefined))
    ;[runtimes.bun, runtimes.deno] = await Promise.all(found)
  }, DOWNLOAD_MS_MAX)

  test.for(Object.entries(receivers))('%s', async ([name, start], { skip }) => {
    if (name in runtimes && runtimes[name] === undefined) notRun(`receiver-${name}`, name, skip)
    const buyer = await openBuyer(emulator)
    const url = await buyer.listenAt()
    await buyer.arm('duplicate_event', { times: 0 })
    const receiver = await start(buyer.options)
    await expect.poll(receiver.printed).toContain('Waiting for events')

    const { id } = await buyer.buy(ITEMS.buy)
    const sent = () => buyer.deliveries(id, 'order.delivered')
    await expect.poll(sent).toMatchObject([{ status: 200 }, { status: 200 }])
    const { links } = await buyer.shop.orders.get(id)
    await expect.poll(receiver.lines).toContain(`order.delivered ${id} links: ${links.length}`)

    const event = { event: 'test' as const, data: { message: 'Signed by hand.' } }
    expect(await post(url, await webhooks.sign(event, { secret: SECRET_PREVIOUS }))).toBe(200)
    expect(await post(url, await webhooks.sign(event, { secret: 'whsec_a-stranger' }))).toBe(400)
    await expect.poll(receiver.printed).toContain('Signed by hand.')
    const printed = receiver.lines().filter((line) => line.startsWith('order.delivered'))
    expect(printed).toHaveLength(1)
    expect(receiver.printed().split('Signed by hand.')).toHaveLength(2)
    for (const link of links) expect(receiver.printed()).not.toContain(link)
  })

  test('events seen before a restart are not printed again after it', async () => {
    const buyer = await openBuyer(emulator)
    const url = await buyer.listenAt()
    const signed = await webhooks.sign({ event: 'test', data: { message: 'Again.' } }, { secret: SECRET })
    for (const printed of ['Again.', '']) {
      const receiver = startExample(['receiver-express/server.ts'], buyer.options)
      await expect.poll(receiver.printed).toContain('Waiting for events')
      expect(await post(url, signed)).toBe(200)
      await expect.poll(receiver.printed).toContain(printed)
      if (printed === '') expect(receiver.printed()).not.toContain('Again.')
      await receiver.kill()
    }
  })

  test('the copy of the seen-events store in the Next app is identical to the original', async () => {
    const [one, other] = await Promise.all(
      ['once/sqlite.ts', 'receiver-next/once.ts'].map((file) => readFile(EXAMPLES + file, 'utf8')),
    )
    expect(one).toBe(other)
  })
})

describe('signers compute every vector, and a store accepts their requests', () => {
  const requests = '109 requests, 0 wrong'
  const both = '109 requests, 52 events, 0 wrong'
  const signers: Record<string, { vectors: string; ping: string; needs: string[]; verdict: string }> = {
    'sign-curl': {
      needs: ['bash', 'curl', 'openssl', 'od'],
      vectors: `bash vectors.sh ${VECTORS}`,
      ping: 'bash ping.sh',
      verdict: requests,
    },
    'sign-python': {
      needs: ['python3'],
      vectors: `python3 -B vectors.py ${VECTORS}`,
      ping: 'python3 -B ping.py',
      verdict: both,
    },
    'sign-go': { needs: ['go'], vectors: `go run . vectors ${VECTORS}`, ping: 'go run .', verdict: both },
    'sign-php': {
      needs: ['php'],
      vectors: `php vectors.php ${VECTORS}`,
      ping: 'php ping.php',
      verdict: both,
    },
  }

  test.for(Object.entries(signers))('%s', async ([name, { needs, vectors, ping, verdict }], { skip }) => {
    const missing = await missingPrograms(needs)
    if (missing.length > 0) notRun(name, missing.join(', '), skip)
    const buyer = await openBuyer(emulator)
    const inFolder = (command: string, env = {}) =>
      promisify(execFile)('bash', ['-c', command], {
        cwd: EXAMPLES + name,
        env: { PATH: process.env.PATH, HOME: process.env.HOME, ...buyer.options.env, ...env },
        timeout: 60_000,
      })
    expect((await inFolder(vectors)).stdout).toContain(verdict)
    expect((await inFolder(ping)).stdout).toContain('Emulated')
    await expect(inFolder(ping, { SHOPWIRE_API_SECRET: 'sk_wrong' })).rejects.toThrow('Command failed')
  })
})

describe('chat-storefront', () => {
  test('a chat request becomes one order, and its link is sent to the buyer only, once', async () => {
    const { buyer, chat } = await openChat()
    await buyer.arm('duplicate_event', { times: 0 })
    chat.type(`@alice /shop ${ITEMS.chat}`)
    chat.type('@alice #wish-1 /buy 1')
    chat.type('@bob /yes')
    chat.type('@alice #yes-1 /yes')
    chat.type('@alice #yes-1 /yes')
    await expect.poll(chat.printed).toContain('(only @alice) Your Paper Lantern: https://')
    const [order] = await buyer.orders()
    await expect.poll(() => buyer.deliveries(order?.id ?? '', 'order.delivered')).toHaveLength(2)

    chat.type('@alice #wish-1 /buy 1')
    chat.type('@alice /yes')
    chat.type('@bob /orders')
    chat.type('@alice /orders')
    await expect.poll(chat.lines).toContain('(only @alice) Paper Lantern $3.99 handed')
    expect(chat.lines()).toContain('(only @bob) You have bought nothing yet.')
    expect(await buyer.orders()).toMatchObject([{ idempotency_key: 'terminal:wish-1' }])
    const { links } = await buyer.shop.orders.get(order?.id ?? '')
    expect(chat.lines().filter((line) => line.includes(links[0] ?? '?'))).toEqual([
      `(only @alice) Your Paper Lantern: ${links[0]}`,
    ])
  })

  test('after lost answers, a crash, a changed price or a refund, the buyer is notified of the outcome and pays once or nothing', async () => {
    const { buyer, chat } = await openChat()
    await buyer.arm('lost_answer', { times: 3 })
    await buyer.arm('slow_fulfilment', { ms: 600_000 })
    chat.type(`/shop ${ITEMS.chat}`)
    chat.type('/buy 1')
    chat.type('/yes')
    await expect.poll(chat.printed).toContain('outcome unknown')
    await chat.kill()
    const [order] = await buyer.orders()
    const again = startExample(['chat-storefront/main.ts'], { ...buyer.options, isTypedTo: true })
    await expect.poll(again.printed).toContain('Say /shop')
    await emulator.control('POST', `/orders/${order?.id}/deliver`, {})
    await expect.poll(again.printed).toContain('(only @you) Your Paper Lantern: https://')

    await buyer.arm('supplier_failure')
    again.type(`/shop ${ITEMS.chat}`)
    again.type('/buy 1')
    again.type('/yes')
    await expect.poll(again.printed).toContain('You get $3.99 back.')

    await buyer.arm('price_change')
    again.type(`/shop ${ITEMS.chatChanges}`)
    again.type('/buy 1')
    again.type('/yes')
    await expect.poll(again.printed).toContain('its price has just changed. You pay nothing.')
    expect(await buyer.orders()).toMatchObject([{ status: 'cancelled' }, { status: 'delivered' }])
    expect(await buyer.balanceCents()).toBe(50_000 - 399)
  })

  async function openChat() {
    const buyer = await openBuyer(emulator)
    await buyer.listenAt()
    const chat = startExample(['chat-storefront/main.ts'], { ...buyer.options, isTypedTo: true })
    await expect.poll(chat.printed).toContain('Say /shop')
    return { buyer, chat }
  }
})

describe('reconcile-nightly', () => {
  test('reports no difference for correct books, names each difference in wrong ones, and reports when it could not read the orders', async () => {
    const buyer = await openBuyer(emulator)
    await buyer.buyAndAwait('delivered')
    const dear = await buyer.buyAndAwait('delivered')
    const unrecorded = await buyer.buyAndAwait('delivered')
    await buyer.arm('supplier_failure')
    const refunded = await buyer.buyAndAwait('cancelled')
    await buyer.arm('slow_fulfilment', { ms: 600_000 })
    const slow = await buyer.buyAndAwait('paid')

    const books = (await buyer.orders()).map(({ id, idempotency_key, status, total_cents, created_at }) => ({
      idempotency_key,
      order_id: id,
      status,
      total_cents,
      created_at,
    }))
    const csv = join(buyer.options.cwd, 'orders.csv')
    const reconcile = async (rows: readonly object[], ...args: string[]) => {
      await writeFile(
        csv,
        [Object.keys(books[0] ?? {}), ...rows.map(Object.values)].map((row) => `${row}\n`).join(''),
      )
      return buyer.run('reconcile-nightly/reconcile.ts', '--grace-minutes', '0', ...args, csv)
    }
    expect(await reconcile(books)).toMatchObject({
      code: 0,
      printed: expect.stringContaining('5 orders of ours compared, 0 diff'),
    })

    const wrong = books
      .filter(({ order_id }) => order_id !== unrecorded.id)
      .map((row) => {
        if (row.order_id === dear.id) return { ...row, total_cents: 1 }
        return row.order_id === refunded.id ? { ...row, status: 'paid' } : row
      })
    const unknown = { ...books[0], idempotency_key: 'never-sent', order_id: 'ord_00000000000000000000000000' }
    const unsettled = { ...books[0], idempotency_key: 'no-answer', order_id: '' }
    const { code, lines } = await reconcile([...wrong, unknown, unsettled], '--paid-minutes', '0')
    expect(code).toBe(1)
    expect(
      lines
        .slice(0, -1)
        .map((line) => line.split(/ +/).slice(0, 2).join(' '))
        .sort(),
    ).toEqual(
      [
        `amount ${dear.id}`,
        `missing_here ${unrecorded.id}`,
        `missing_there ${unknown.order_id}`,
        `paid_too_long ${slow.id}`,
        `refunded_unnoticed ${refunded.id}`,
        'unsettled no-answer',
      ].sort(),
    )

    const db = new DatabaseSync(join(buyer.options.cwd, 'orders.db'))
    db.exec(
      'create table orders (idempotency_key text, order_id text, status text, total_cents integer, created_at text)',
    )
    for (const row of books)
      db.prepare('insert into orders values (?, ?, ?, ?, ?)').run(...Object.values(row))
    db.close()
    expect(
      await buyer.run('reconcile-nightly/reconcile.ts', '--grace-minutes', '0', 'orders.db'),
    ).toMatchObject({ code: 0 })

    expect(await buyer.run('reconcile-nightly/reconcile.ts', 'no-such.csv')).toMatchObject({ code: 2 })
  })
})

test('the commands on the first page of the examples work: an emulator in one terminal, a receiver and a buyer in others', async () => {
  const cwd = await makeFolder()
  const [port, hooks] = await freePorts(2)
  const options = { cwd, env: { PORT: String(hooks) } }
  const node = (...args: string[]) => startCommand(process.execPath, args, options)
  const webhook = ['--webhook', `http://localhost:${hooks}/hooks`, '--fault', 'duplicate_event:times=0']
  const program = node(EMULATOR, '--port', String(port), '--write-env', '.env', ...webhook)
  await expect.poll(program.printed, { timeout: START_MS_MAX }).toContain('node --env-file=.env')
  const receiver = node('--env-file=.env', `${EXAMPLES}receiver-express/server.ts`)
  await expect.poll(receiver.printed).toContain('Waiting for events')
  expect(await node('--env-file=.env', `${EXAMPLES}buy-node/buy.ts`).end()).toBe(0)
  await expect.poll(receiver.lines).toHaveLength(3)
  expect(
    receiver
      .lines()
      .map((line) => line.split(' ')[0])
      .sort(),
  ).toEqual(['Waiting', 'order.accepted', 'order.delivered'])
  program.interrupt()
  expect(await program.end()).toBe(0)
})

async function post(url: string, { body, headers }: webhooks.SignedEvent): Promise<number> {
  const response = await fetch(url, { method: 'POST', body, headers })
  await response.arrayBuffer()
  return response.status
}

/** Counted as skipped and printed. */
function notRun(example: string, wanted: string, skip: (note: string) => void) {
  process.stderr.write(`examples: ${example} NOT RUN because ${wanted} is not installed\n`)
  skip(`${wanted} is not on this machine`)
}

async function missingPrograms(programs: readonly string[]): Promise<string[]> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const missing: string[] = []
  for (const program of programs) {
    const found = await Promise.allSettled(folders.map((folder) => access(join(folder, program))))
    if (found.every(({ status }) => status === 'rejected')) missing.push(program)
  }
  return missing
}
