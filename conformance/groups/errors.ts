import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import { newNonce } from '../signer.ts'

export const errors = group('errors', 'Errors, sizes and times')
const { check } = errors

const BYTES_MAX = 16_384
const padded = (id: string, size: number) => {
  const body = `{"items":[{"id":"${id}"}]}`
  return body + ' '.repeat(size - Buffer.byteLength(body))
}

check(
  'shape',
  'a refusal is {error: {type, message}} and nothing else',
  ['err.shape', 'd1.types'],
  async (t) => (await t.get(await t.buyer(), '/catalogue/x')).refused(404, 'not_found'),
)
check('stable', 'the type of an error is the same each time', ['err.shape'], async (t) => {
  const key = await t.buyer()
  const types = []
  for (let n = 0; n < 3; n += 1)
    types.push((await t.get(key, '/catalogue?limit=0')).refused(400).json.error.type)
  equal('types', types, Array(3).fill('invalid_request'))
})
check(
  'names-the-field',
  'the message of a 400 is readable and names what is wrong',
  ['err.shape', 'err.400'],
  async (t) => {
    const { message } = (await t.get(await t.buyer(), '/catalogue?limit=0')).refused(400).json.error
    that('a message that names limit', /limit/.test(message), message)
  },
)
check('json-type', 'refusals are JSON in UTF-8 too', ['err.shape', 'd1.response-headers'], async (t) => {
  for (const reply of [
    await t.send({ path: '/nothing' }),
    await t.send({ path: '/ping' }),
    await t.get(await t.buyer(), '/catalogue?limit=0'),
  ]) {
    equal('Content-Type', reply.header('content-type'), 'application/json; charset=utf-8')
  }
})
check(
  'no-echo',
  'a refusal does not repeat the secret parts of a request',
  ['err.shape', 'what.secrets'],
  async (t) => {
    const nonce = newNonce()
    const reply = (await t.get({ ...(await t.buyer()), secret: 'x' }, '/ping', { nonce })).refused(401)
    that('no nonce in the answer', !reply.body.toString().includes(nonce), reply.body.toString())
  },
)

check(
  '16-kib',
  'a body of 16384 bytes is read',
  ['lim.body', 'err.413'],
  async (t) => (await t.post(await t.buyer(), '/quote', padded(t.item('plain').id, BYTES_MAX))).is(200),
  { needs: ['item:plain'] },
)
check(
  '16-kib-and-one',
  'a body of 16385 bytes is 413',
  ['lim.body', 'err.413'],
  async (t) =>
    (await t.post(await t.buyer(), '/quote', padded(t.item('plain').id, BYTES_MAX + 1))).refused(
      413,
      'payload_too_large',
    ),
  { needs: ['item:plain'] },
)
check(
  '413-unsigned',
  'a declared length that is too large is refused before any signature is checked',
  ['d1.order', 'err.413'],
  async (t) =>
    (
      await t.send({
        method: 'POST',
        path: '/quote',
        edit: (list) => list.map(([n, v]) => [n, n === 'Content-Length' ? '16385' : v]),
      })
    ).refused(413, 'payload_too_large'),
)
check('413-before-body', 'it is refused before the body was sent', ['d1.order', 'd1.408-413'], async (t) => {
  const bytes = t.bytes({
    method: 'POST',
    path: '/quote',
    key: await t.buyer(),
    edit: (list) => list.map(([n, v]) => [n, n === 'Content-Length' ? '99999' : v]),
  })
  const reply = (await t.raw(bytes)).refused(413, 'payload_too_large')
  that('an answer at once', reply.ms < 3_000, `${reply.ms} ms`)
})
check('413-closes', 'after a 413 the connection is closed', ['d1.408-413'], async (t) => {
  const bytes = t.bytes({
    method: 'POST',
    path: '/quote',
    key: await t.buyer(),
    body: 'x'.repeat(BYTES_MAX + 1),
  })
  const reply = (await t.raw(bytes, { closeMsMax: 5_000 })).refused(413)
  equal('closed', reply.isClosed, true)
})
check('413-chunked', 'a body that grows too large in chunks is 413', ['lim.body', 'err.413'], async (t) => {
  const head = t.bytes({
    method: 'POST',
    path: '/quote',
    key: await t.buyer(),
    edit: (list) =>
      list.map(([n, v]) => (n === 'Content-Length' ? ['Transfer-Encoding', 'chunked'] : [n, v])),
  })
  const chunk = Buffer.from(`1000\r\n${' '.repeat(4_096)}\r\n`)
  ;(await t.raw([head, chunk, chunk, chunk, chunk, chunk])).refused(413, 'payload_too_large')
})
check('multi-byte', 'the size is counted in bytes, not in characters', ['lim.body'], async (t) => {
  const body = JSON.stringify({ items: [{ id: 'é'.repeat(8_200) }] })
  that(
    'fewer characters than bytes',
    body.length < BYTES_MAX && Buffer.byteLength(body) > BYTES_MAX,
    body.length,
  )
  ;(await t.post(await t.buyer(), '/quote', body)).refused(413, 'payload_too_large')
})

check(
  'slow-body',
  'a body that does not end within 5 seconds is 408, and the connection is closed',
  ['lim.body-time', 'err.408', 'd1.408-413'],
  async (t) => {
    const key = await t.buyer()
    const whole = t.bytes({ method: 'POST', path: '/quote', key, body: '{"items":[]}' })
    const reply = (await t.raw([whole.subarray(0, whole.length - 5)], { closeMsMax: 5_000 })).refused(
      408,
      'request_timeout',
    )
    that('after 5 s', reply.ms > 4_800 && reply.ms < 8_000, `${Math.round(reply.ms)} ms`)
    equal('closed', reply.isClosed, true)
  },
  { pace: 'slow' },
)
check(
  'dripping-body',
  'a body sent byte by byte does not extend the 5 seconds',
  ['lim.body-time', 'err.408'],
  async (t) => {
    const key = await t.buyer()
    const whole = t.bytes({ method: 'POST', path: '/quote', key, body: `{"items":[]${' '.repeat(20)}}` })
    const drips = Array.from({ length: 18 }, (_, n) => [
      500,
      whole.subarray(whole.length - 20 + n, whole.length - 19 + n),
    ]).flat()
    const reply = (
      await t.raw([whole.subarray(0, whole.length - 20), ...drips] as (Buffer | number)[])
    ).refused(408, 'request_timeout')
    that('after 5 s', reply.ms > 4_800 && reply.ms < 8_000, `${Math.round(reply.ms)} ms`)
  },
  { pace: 'slow' },
)
check(
  '408-keeps-nonce',
  'a 408 leaves the nonce unspent',
  ['d1.408-413', 'err.retry-408'],
  async (t) => {
    const key = await t.buyer()
    const nonce = newNonce()
    const whole = t.bytes({ method: 'POST', path: '/quote', key, nonce, body: '{"items":[]}' })
    ;(await t.raw([whole.subarray(0, whole.length - 5)])).refused(408)
    ;(await t.get(key, '/ping', { nonce })).is(200)
  },
  { pace: 'slow' },
)
check(
  'in-time',
  'a body that arrives in pieces within 5 seconds is read',
  ['lim.body-time'],
  async (t) => {
    const bytes = t.bytes({
      method: 'POST',
      path: '/quote',
      key: await t.buyer(),
      body: padded(t.item('plain').id, 60),
    })
    ;(
      await t.raw([
        bytes.subarray(0, 40),
        700,
        bytes.subarray(40, bytes.length - 10),
        1_200,
        bytes.subarray(bytes.length - 10),
      ])
    ).is(200)
  },
  { needs: ['item:plain'] },
)
check(
  'clock-before-body',
  'a stale timestamp is refused without waiting for the body',
  ['d1.order'],
  async (t) => {
    const whole = t.bytes({
      method: 'POST',
      path: '/quote',
      key: await t.buyer(),
      timestamp: '1000000000',
      body: '{"items":[]}',
    })
    const reply = (await t.raw([whole.subarray(0, whole.length - 5)])).refused(401, 'timestamp_out_of_range')
    that('an answer at once', reply.ms < 3_000, `${reply.ms} ms`)
  },
)
