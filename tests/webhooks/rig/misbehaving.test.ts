import { readFile } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { Answering } from '@shopwire/test-kit/receivers/webhook-receiver'
import { until } from '@shopwire/test-kit/servers'
import { describe, expect } from 'vitest'
import { SOON_MS, type Subscription, THERE, test, timeDelivery } from './rig.ts'

const MEBIBYTE = 1_048_576
/** What fits into the buffers of both ends and of the kernel before a closed connection is noticed. */
const POURED_BYTES_MAX = 16 * MEBIBYTE
const GROWTH_BYTES_MAX = 64 * MEBIBYTE
const WORKER_BYTES_MAX = 400 * MEBIBYTE
const AT_ONCE = 4

describe('threat 56: one unresponsive receiver', () => {
  test('gets at most four requests at once and delays no other endpoint; the latency of the others is printed', async ({
    subscribe,
    annotate,
  }) => {
    const [dead, ...healthy] = await Promise.all([
      subscribe('dead.example.net', { address: THERE }),
      ...[0, 1, 2, 3].map((n) => subscribe(`healthy-${n}.example.net`, { port: 2100 + n })),
    ])
    let open = 0
    let most = 0
    dead.receiver.answers(({ response }) => {
      open += 1
      most = Math.max(most, open)
      response.on('close', () => {
        open -= 1
      })
    })
    const alone = await deliveryTimes(healthy, 10)
    for (let n = 0; n < 10; n += 1) await dead.sendTest()
    const beside = await deliveryTimes(healthy, 25)
    await annotate(
      `alone p50 ${alone.p50} ms, p99 ${alone.p99} ms; beside it ${beside.p50} ms, ${beside.p99} ms`,
    )
    expect(most).toBe(AT_ONCE)
    expect((await dead.health()).pending).toBe(10)
    expect(beside.p99).toBeLessThan(alone.p99 + 1_000)
  })
})

/** All at once, four requests each: the worker has all of them under way at the same time. */
describe.concurrent('threat 55: a misbehaving receiver is disconnected at the time or size limit', () => {
  test.for([
    ['hangs', 'timeout', () => {}],
    [
      'drips its header',
      'timeout',
      ({ request: { socket } }) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ')
        const drip = setInterval(() => socket.write('y'), 200)
        socket.on('close', () => clearInterval(drip))
      },
    ],
    [
      'has an endless header',
      'bad_response',
      ({ request: { socket } }) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        pour(socket, Buffer.from(`x: ${'y'.repeat(1_000)}\r\n`.repeat(16)))
      },
    ],
    [
      'sends 1xx responses without end',
      'timeout',
      ({ request: { socket } }) => {
        const drip = setInterval(
          () => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(100)),
          10,
        )
        socket.on('close', () => clearInterval(drip))
      },
    ],
    ['does not speak HTTP', 'bad_response', ({ request }) => request.socket.end('220 mail.example.net\r\n')],
    ['hangs up', 'reset', ({ request }) => request.socket.destroy()],
    ['answers 503', 'http_503', ({ response }) => response.writeHead(503).end()],
  ] as [string, string, Answering][])(
    'one that %s: last_error is %s',
    async ([kind, error, manner], { subscribe }) => {
      const { receiver, sendTest, untilError, health } = await subscribe(nameOf(kind), ownPlace())
      const poured = watch(receiver, manner)
      for (let n = 0; n < AT_ONCE; n += 1) await sendTest()
      await untilError(error)
      await poured.untilLeft(AT_ONCE)
      expect(poured.bytesMost()).toBeLessThan(POURED_BYTES_MAX)
      expect(await health()).toMatchObject({ pending: AT_ONCE, failed: 0, last_delivered_at: null })
    },
  )

  test.for([
    [
      'answers without end',
      ({ response }) => {
        response.writeHead(200)
        pour(response, Buffer.alloc(65_536))
      },
    ],
    [
      'drips its answer',
      ({ response }) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write('x'), 200)
        response.on('close', () => clearInterval(drip))
      },
    ],
    [
      'sends a gzip bomb',
      ({ request, response }) => {
        // The worker did not ask for compression and does not decompress.
        const isAskedFor = request.headers['accept-encoding'] !== undefined
        response.writeHead(isAskedFor ? 406 : 200, { 'content-encoding': 'gzip' }).end(BOMB)
      },
    ],
  ] as [string, Answering][])(
    'one that %s counts as delivered because of its 200, and is disconnected at the limit',
    async ([kind, manner], { subscribe }) => {
      const { receiver, sendTest, untilNothingPending, health } = await subscribe(nameOf(kind), ownPlace())
      const poured = watch(receiver, manner)
      for (let n = 0; n < AT_ONCE; n += 1) await sendTest()
      await untilNothingPending()
      await poured.untilLeft(1)
      expect(poured.bytesMost()).toBeLessThan(POURED_BYTES_MAX)
      expect(await health()).toMatchObject({ failed: 0, last_error: null })
    },
  )

  test('one that resets the connection after its headers: delivered or reset, and nothing hangs', async ({
    subscribe,
  }) => {
    const { receiver, sendTest, health } = await subscribe('resets.example.net', ownPlace())
    receiver.answers(({ response, wire }) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('x', () => wire.resetAndDestroy())
    })
    await sendTest()
    const { last_error } = await until(
      async () => {
        const endpoint = await health()
        return (endpoint.last_delivered_at ?? endpoint.last_failure_at) && endpoint
      },
      SOON_MS,
      () => 'it hangs',
    )
    expect([null, 'reset']).toContain(last_error)
  })
})

describe('threat 55: afterwards', () => {
  test('the memory of the worker does not grow with more such receivers; the figure is printed', async ({
    rig,
    subscribe,
    annotate,
  }) => {
    const { receiver, sendTest, untilNothingPending } = await subscribe('more.example.net', ownPlace())
    receiver.answers(({ response }) => pour(response.writeHead(200), Buffer.alloc(65_536)))
    const peakBytes = async () => {
      const status = await readFile(`/proc/${rig.worker.pid()}/status`, 'utf8')
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024
    }
    const before = await peakBytes()
    for (let n = 0; n < 20; n += 1) {
      await sendTest()
      if (n % 10 === 9) await untilNothingPending()
    }
    const after = await peakBytes()
    await annotate(`worker at its peak: ${[before, after].map((bytes) => Math.round(bytes / MEBIBYTE))} MiB`)
    expect(after - before).toBeLessThan(GROWTH_BYTES_MAX)
    expect(after).toBeLessThan(WORKER_BYTES_MAX)
  })
})

test('all invariants hold after the tests above', ({ rig }) => rig.expectAllHolds())

/** 60 MiB once unpacked, and below the limit of what is read as it is. */
const BOMB = gzipSync(Buffer.alloc(60 * MEBIBYTE))

let ports = 2200
const ownPlace = () => {
  ports += 1
  return { address: THERE, port: ports }
}
const nameOf = (kind: string) => `${kind.toLowerCase().replaceAll(' ', '-')}.example.net`

/** As much as the other side takes. */
function pour(into: Writable, chunk: Buffer): void {
  const more = () => {
    while (!into.destroyed && into.write(chunk));
  }
  into.on('drain', more).on('error', () => {})
  more()
}

/** Makes a receiver behave like this, and counts the bytes it could write to each connection before the worker closed it. */
function watch({ answers }: Subscription['receiver'], manner: Answering) {
  const left: number[] = []
  const seen = new Set<unknown>()
  answers((exchange) => {
    const { socket } = exchange.request
    if (!seen.has(socket)) socket.once('close', () => left.push(socket.bytesWritten))
    seen.add(socket)
    manner(exchange)
  })
  return {
    bytesMost: () => Math.max(...left),
    untilLeft: (count: number) =>
      until(
        () => left.length >= Math.min(count, seen.size),
        SOON_MS,
        () => `${left.length} connections are left`,
      ),
  }
}

/** Of so many events to each, one after the other: from the call that makes one to its arrival. */
async function deliveryTimes(subscriptions: readonly Subscription[], events: number) {
  const waits = await Promise.all(
    subscriptions.map(async (subscription) => {
      const own: number[] = []
      for (let n = 0; n < events; n += 1) own.push(await timeDelivery(subscription))
      return own
    }),
  )
  const sorted = waits.flat().sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}
