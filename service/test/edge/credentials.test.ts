import { randomBytes } from 'node:crypto'
import { signRequest } from '@shopwire/contract/signing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/db.ts'
import { asSuperuser } from '../../testing/database.ts'
import { ask, openLine, type RawAnswer, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal, typeOf } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders, type TestKey } from '../../testing/shop.ts'

const NOW_S = Math.floor(Date.now() / 1000)
const NONCE = 'a'.repeat(32)

let shop: Shop
/** Stopped, so that "sixty seconds ago" is exact. The last millisecond still belongs to its second. */
let nowMs = NOW_S * 1000 + 999
beforeAll(async () => {
  shop = await openShop({ clock: { nowMs: () => nowMs } })
})
afterAll(() => shop.close())

interface Parts {
  readonly key: string
  readonly timestamp: string
  readonly nonce: string
  readonly signature: string
}

/** Signs a ping correctly over the given timestamp and nonce: only their form can be wrong. */
function sign(given: Partial<Parts> = {}, key: TestKey = shop.key): Parts {
  const { timestamp = String(NOW_S), nonce = randomBytes(16).toString('hex') } = given
  const parts = { method: 'GET', target: '/v1/ping', timestamp, nonce, body: new Uint8Array() }
  return { key: key.id, timestamp, nonce, signature: signRequest(key.secret, parts), ...given }
}

/** Header values are bytes; text beyond ASCII is sent as UTF-8. */
const bytesOf = (text: string) => Buffer.from(text).toString('latin1')

const headerList = (parts: Parts): [string, string][] => [
  ['X-Api-Key', bytesOf(parts.key)],
  ['X-Api-Timestamp', bytesOf(parts.timestamp)],
  ['X-Api-Nonce', bytesOf(parts.nonce)],
  ['X-Api-Signature', bytesOf(parts.signature)],
]

const ping = (headers: readonly [string, string][]) =>
  ask(shop.port, requestBytes('GET', '/v1/ping', headers))

async function admissionRows() {
  const rows = await shop.database.owner.many<{ nonces: number; witnessed: number; windows: number }>(sql`
    select (select count(*) from spent_nonces) as nonces,
           (select count(*) from witnessed_nonces) as witnessed,
           (select coalesce(sum(cardinality(requests) + cardinality(orders)), 0)::bigint from admission_windows) as windows`)
  return rows[0]
}

/** Locks the tables of keys, accounts and nonces for as long as `work` takes. */
const withoutDatabase = (work: () => Promise<void>) =>
  asSuperuser(async (client) => {
    await client.query('begin')
    await client.query(
      'lock table api_keys, accounts, spent_nonces, admission_windows in access exclusive mode',
    )
    await work()
    await client.query('rollback')
  }, shop.database.superuserUrl)

describe('threat 20: timestamps within sixty seconds of our clock', () => {
  test.each([
    [0, 999],
    [-60, 999],
    [60, 999],
    [-60, 0],
    [60, 0],
  ])('a timestamp %i s off is accepted, at %i ms into our second', async (off, ms) => {
    nowMs = NOW_S * 1000 + ms
    const answer = await ping(headerList(sign({ timestamp: String(NOW_S + off) })))
    expect(answer.status).toBe(200)
  })

  test.each([
    [-61, 0],
    [61, 0],
    [-61, 999],
    [61, 999],
  ])(
    'a timestamp %i s off is refused, at %i ms into our second, and the message contains our time',
    async (off, ms) => {
      nowMs = NOW_S * 1000 + ms
      const before = await admissionRows()
      const answer = await ping(headerList(sign({ timestamp: String(NOW_S + off) })))
      expect(expectRefusal(answer, 'timestamp_out_of_range')).toContain(String(NOW_S))
      expect(await admissionRows()).toEqual(before)
    },
  )
})

describe('threats 21, 22, 25 and 30: a malformed signature header is refused without a database query', () => {
  const cases: [row: number, what: string, headers: () => [string, string][]][] = [
    ...[
      '+1',
      '1e9',
      '1',
      '1.0',
      '-1',
      `0${NOW_S}`,
      `+${NOW_S}`,
      `-${NOW_S}`,
      `${NOW_S}.0`,
      `${NOW_S}e0`,
      `0x${NOW_S.toString(16)}`,
      `${NOW_S}000`,
      '1'.repeat(20),
      `\u00a0${NOW_S}`,
      `${NOW_S},${NOW_S}`,
      String(NOW_S).replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit))),
      String(NOW_S).replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
      '',
    ].map((timestamp): [number, string, () => [string, string][]] => [
      21,
      `timestamp "${timestamp}"`,
      () => headerList(sign({ timestamp })),
    ]),
    ...[
      '',
      'a'.repeat(31),
      'a'.repeat(65),
      'A'.repeat(32),
      `${'a'.repeat(31)}A`,
      `${'a'.repeat(31)}g`,
      `${'a'.repeat(31)}-`,
      `0x${'a'.repeat(32)}`,
      `${'a'.repeat(16)} ${'a'.repeat(16)}`,
      `${'a'.repeat(31)}\u0430`,
    ].map((nonce): [number, string, () => [string, string][]] => [
      22,
      `nonce "${nonce}"`,
      () => headerList(sign({ nonce })),
    ]),
    ...[
      ['upper case', (right: string) => right.toUpperCase()],
      ['63 characters', (right: string) => right.slice(1)],
      ['65 characters', (right: string) => `${right}0`],
      ['a letter beyond f', (right: string) => `${right.slice(1)}g`],
      ['nothing', () => ''],
      ['base64', (right: string) => Buffer.from(right, 'hex').toString('base64')],
      ['a prefix', (right: string) => `sha256=${right}`],
      ['bytes beyond ASCII', (right: string) => `${right.slice(1)}é`],
    ].map(([what, change]): [number, string, () => [string, string][]] => [
      25,
      `signature: ${what}`,
      () => {
        const right = sign()
        return headerList({ ...right, signature: (change as (right: string) => string)(right.signature) })
      },
    ]),
    ...[
      '',
      'key',
      'key_c1_',
      '../../etc',
      "' or 1=1 --",
      'key_c1_IIIIIIIIIIIIIIIIIIIIIIIIII',
      'k'.repeat(4000),
    ].map((key): [number, string, () => [string, string][]] => [
      22,
      `key id "${key.slice(0, 40)}"`,
      () => headerList(sign({ key })),
    ]),
    ...['X-Api-Key', 'X-Api-Timestamp', 'X-Api-Nonce', 'X-Api-Signature'].flatMap(
      (name): [number, string, () => [string, string][]][] => [
        [22, `no ${name}`, () => headerList(sign()).filter(([given]) => given !== name)],
        [30, `${name} twice, the same`, () => twice(name, (value) => value)],
        [30, `${name} twice, the right one first`, () => twice(name, (value) => otherThan(value))],
        [30, `${name} twice, the right one last`, () => twice(name, (value) => otherThan(value)).reverse()],
        [30, `${name} twice, the other one empty`, () => twice(name, () => '')],
        [30, `${name} twice, spelled in two cases`, () => twice(name, (value) => value, name.toLowerCase())],
      ],
    ),
  ]

  function twice(name: string, second: (value: string) => string, secondName = name): [string, string][] {
    const list = headerList(sign())
    const value = list.find(([given]) => given === name)?.[1] ?? ''
    return [...list, [secondName, second(value)]]
  }
  const otherThan = (value: string) => value.slice(0, -1) + (value.endsWith('0') ? '1' : '0')

  test.each(cases)('threat %i: %s', async (_threat, _what, headers) => {
    const before = await admissionRows()
    await withoutDatabase(async () => {
      expectRefusal(await ping(headers()), 'authentication_failed')
    })
    expect(await admissionRows()).toEqual(before)
  })

  test('threat 25: an unknown key, a revoked key and a wrong signature get exactly the same bytes', async () => {
    const unknown = { id: `key_c1_${'0'.repeat(25)}1`, secret: 'sk_nobody' }
    const right = sign()
    const revoked = await shop.makeKey()
    await shop.operator.revokeKey(revoked.id)
    const answers = await Promise.all([
      ping(headerList(sign({}, unknown))),
      ping(headerList(sign({}, revoked))),
      ping(headerList({ ...right, signature: 'f'.repeat(64) })),
    ])
    const bodies = new Set(answers.map(({ status, body }) => `${status} ${body}`))
    expect(bodies.size).toBe(1)
    const headers = new Set(answers.map((answer) => Object.keys(answer.headers).sort().join()))
    expect(headers.size).toBe(1)
  })

  test.each([
    ['without a header', () => headerList(sign()).slice(1), 'X-Api-Key is missing.'],
    [
      'with milliseconds',
      () => headerList(sign({ timestamp: `${NOW_S}000` })),
      'X-Api-Timestamp must be Unix seconds in ten digits.',
    ],
    [
      'with key and secret swapped',
      () => headerList({ ...sign(), key: shop.key.secret }),
      'X-Api-Key must be a key id, such as key_c1_ and 26 characters.',
    ],
    [
      'with two wrong headers',
      () => headerList({ ...sign({ nonce: NONCE.toUpperCase() }), signature: 'sha256=' }),
      'X-Api-Nonce must be 32 to 64 lower-case hex characters. X-Api-Signature must be 64 lower-case hex characters.',
    ],
  ])(
    '%s the message names the header and its form, for known and unknown keys',
    async (_what, list, message) => {
      const unknown = (pairs: [string, string][]) =>
        pairs.map(([name, value]): [string, string] =>
          value === shop.key.id ? [name, `key_c1_${'0'.repeat(25)}1`] : [name, value],
        )
      for (const answer of [await ping(list()), await ping(unknown(list()))]) {
        expectRefusal(answer, 'authentication_failed')
        expect(JSON.parse(answer.body).error.message).toBe(message)
      }
    },
  )
})

describe('threat 23: wrong signatures do not affect the owner of the key id', () => {
  const TRIES = 2_000
  const LINES = 8

  /** Well-formed, with a valid timestamp, and signed with another secret. */
  const forged = (key_id: string) =>
    requestBytes('GET', '/v1/ping', {
      ...signedHeaders({ id: key_id, secret: 'sk_not_the_one' }, 'GET', '/v1/ping', undefined, nowMs),
    })

  async function forge(key_id: string, times: number): Promise<RawAnswer[]> {
    const line = await openLine(shop.port)
    const answers: RawAnswer[] = []
    for (let n = 0; n < times; n += 1) {
      line.send(forged(key_id))
      answers.push((await line.next()) as RawAnswer)
    }
    line.close()
    return answers
  }

  test(`${TRIES} of them all get 401, spend no nonce and no request, and the owner is served at once`, async () => {
    const victim = await shop.operator.createAccount('Victim')
    const key = await shop.makeKey(undefined, victim.id)
    const before = await admissionRows()
    const lines = await Promise.all(Array.from({ length: LINES }, () => forge(key.id, TRIES / LINES)))
    expect(new Set(lines.flat().map((answer) => `${answer.status} ${typeOf(answer)}`))).toEqual(
      new Set(['401 authentication_failed']),
    )
    expect(await admissionRows()).toEqual(before)

    const owner = await shop.call('GET', '/v1/ping', { key, nowMs })
    expect([owner.status, owner.headers.get('ratelimit')]).toEqual([
      200,
      expect.stringContaining('"req";r=119;'),
    ])
  })
})
