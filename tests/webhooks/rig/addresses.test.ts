import { until } from '@shopwire/test-kit/servers'
import { describe, expect } from 'vitest'
import { HERE, SOON_MS, test } from './rig.ts'

const INSIDE = [
  ...['127.0.0.1', '10.0.0.1', '100.64.0.1', '169.254.169.254', '0.0.0.0'],
  ...['::1', 'fd00:ec2::254', '::ffff:7f00:1', '::7f00:1', '64:ff9b::7f00:1', '2002:7f00:1::', 'fec0::1'],
]
/** What `last_error` may say, besides `http_` and a status. */
const VOCABULARY = ['dns', 'blocked', 'connect', 'tls', 'timeout', 'reset', 'bad_response', 'internal']

describe('threat 51: a URL to an internal address', () => {
  test('is refused with 400 in every spelling', async ({ rig }) => {
    const { configure } = await rig.openAccount()
    const hosts = [
      ...[
        '127.0.0.1',
        '10.0.0.1',
        '172.16.0.1',
        '192.168.0.1',
        '100.64.0.1',
        '169.254.1.1',
        '169.254.169.254',
      ],
      ...['[::1]', '[fd00:ec2::254]', '[::ffff:127.0.0.1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]'],
      ...['[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001::1]', '[fec0::1]'],
      ...['0', '127.1', '2130706433', '017700000001', '0177.0.0.1', '0x7f000001', '0x7f.0.0.1', '①②⑦.0.0.1'],
      ...['localhost', 'localhost.', 'a.localhost', 'metadata.google.internal', 'printer.local'],
    ]
    const answers = await Promise.all(hosts.map((host) => configure(`https://${host}/`)))
    const results = answers.map(({ status, body }, n) => [hosts[n], status, body.error?.type])
    expect(results).toEqual(hosts.map((host) => [host, 400, 'webhook_url_not_allowed']))
  })

  test('is blocked when connecting if the name resolves to it later, and is refused at registration from then on', async ({
    rig,
    subscribe,
  }) => {
    const { receiver, account_id, configure, sendTest, untilError } = await subscribe('later.example.net')
    for (const [n, address] of INSIDE.entries()) {
      rig.dns.set('later.example.net', [HERE])
      expect((await configure(`https://later.example.net/${n}`)).status).toBe(200)
      rig.dns.set('later.example.net', [address])
      await sendTest()
      await untilError('blocked')
      const again = await configure('https://later.example.net/again')
      expect([address, again.status, again.body.error?.type]).toEqual([
        address,
        400,
        'webhook_url_not_allowed',
      ])
    }
    expect(receiver.arrivals).toEqual([])
    const attempts = await rig.system.query(
      `select count(*), count(remote_address) from attempts_made where account_id = '${account_id}'`,
    )
    expect(attempts).toBe(`${INSIDE.length}|0`)
  })
})

describe('threat 52: the address that was checked is the address that is dialled', () => {
  test('a name that resolves differently on each lookup with TTL 0 is dialled at a public address or not at all', async ({
    rig,
    subscribe,
  }) => {
    const { receiver, account_id, sendTest } = await subscribe('flip.example.net')
    // Each on a connection, and so a look-up, of its own.
    receiver.answers(({ response }) => response.writeHead(204, { connection: 'close' }).end())
    rig.dns.set('flip.example.net', (lookUp) => [lookUp % 2 === 1 ? HERE : '127.0.0.1'])
    for (let n = 0; n < 8; n += 1) await sendTest()
    const attempts = () =>
      rig.system.query(
        `select coalesce(error, 'delivered') || ' ' || coalesce(host(remote_address), 'nowhere')
           from attempts_made where account_id = '${account_id}'`,
      )
    const tried = await until(
      async () => {
        const all = (await attempts()).split('\n')
        return all.length === 8 ? all : undefined
      },
      SOON_MS,
      () => 'not all of them are tried',
    )
    expect([...new Set(tried)].sort()).toEqual(['blocked nowhere', `delivered ${HERE}`])
  })

  test.for([
    ['one private answer among public ones', [HERE, '10.0.0.1']],
    ['a private answer of the other family', [HERE, '::1']],
    ['a CNAME to a name inside', ['db.corp.example', '10.0.0.1']],
    ['a chain of CNAMEs that ends inside', ['a.example.net', 'b.example.org', '169.254.169.254']],
  ] as [string, string[]][])(
    '%s: nothing is sent, and the URL cannot be registered',
    async ([, answers], { rig, subscribe }) => {
      const { receiver, configure, sendTest, untilError } = await subscribe('spoilt.example.net')
      rig.dns.set('spoilt.example.net', answers)
      await sendTest()
      await untilError('blocked')
      const again = await configure('https://spoilt.example.net/again')
      expect(again.body.error?.type).toBe('webhook_url_not_allowed')
      expect(receiver.arrivals).toEqual([])
    },
  )

  test('a CNAME to a public address is followed, and the certificate must match the registered name', async ({
    rig,
    subscribe,
  }) => {
    const { receiver, sendTest, untilNothingPending } = await subscribe('alias.example.net')
    rig.dns.set('alias.example.net', ['edge.cdn.example', HERE])
    await sendTest()
    await untilNothingPending()
    expect(receiver.arrivals).toMatchObject([{ isGenuine: true }])
  })
})

describe('threat 53: a resolver failure at registration', () => {
  test('does not disable the SSRF guard: a URL registered meanwhile is blocked if it resolves to an internal address', async ({
    rig,
  }) => {
    const { configure, sendTest, untilError } = await rig.openAccount()
    rig.dns.set('sick.example.net', 'SERVFAIL')
    expect((await configure('https://sick.example.net/')).status).toBe(200)
    await sendTest()
    await untilError('dns')
    rig.dns.set('sick.example.net', ['127.0.0.1'])
    await sendTest()
    await untilError('blocked')
  })
})

describe('threat 54: a redirect', () => {
  test('is never followed; it counts as a failed attempt and is retried on schedule', async ({
    rig,
    subscribe,
  }) => {
    const { receiver, account_id, sendTest, health } = await subscribe('redirect.example.net')
    const answers = [
      [301, 'https://169.254.169.254/latest/meta-data/'],
      [302, 'https://127.0.0.1/'],
      [303, 'https://10.0.0.1/'],
      [307, 'https://redirect.example.net/elsewhere'],
      [308, 'http://169.254.169.254/'],
    ] as const
    const left = [...answers]
    receiver.answers(({ response }) => {
      const [status, location] = left.shift() ?? [200, '']
      response.writeHead(status, { location }).end()
    })
    for (const _ of answers) await sendTest()
    const tried = () =>
      rig.system.query(
        `select string_agg(a.error, ' ' order by a.error)
           from attempts_made a
           join deliveries d using (account_id, endpoint_id, event_id)
          where account_id = '${account_id}' and d.state = 'pending' and d.next_at > a.finished_at + interval '59 s'`,
      )
    await until(
      async () => (await tried()) === 'http_301 http_302 http_303 http_307 http_308',
      SOON_MS,
      () => 'not every redirect is a failure',
    )
    expect(receiver.arrivals.map(({ url }) => url)).toEqual(
      Array(5).fill('https://redirect.example.net/hook'),
    )
    expect(await health()).toMatchObject({ pending: 5, failed: 0, last_delivered_at: null })
  })
})

describe('threat 62: last_error', () => {
  test('does not reveal the response, the address, or whether an internal service answered', async ({
    rig,
    subscribe,
  }) => {
    const { receiver, sendTest, untilError, health } = await subscribe('oracle.example.net')
    receiver.answers(({ response }) =>
      response.writeHead(500, 'Leaked 10.0.0.1', { 'x-leaked': 'leaked-header' }).end('leaked: root:x:0:0'),
    )
    await sendTest()
    await untilError('http_500')
    expect(JSON.stringify(await health())).not.toMatch(/leaked|root|\d+\.\d+\.\d+\.\d+/i)

    // Port 443 is open and 8444 is closed: from outside the two must look alike.
    const seen = []
    for (const port of [443, 8444]) {
      const { configure, ...guesser } = await rig.openAccount()
      rig.dns.set('guess.example.net', [HERE])
      await configure(`https://guess.example.net:${port}/`)
      rig.dns.set('guess.example.net', ['10.0.0.1'])
      await guesser.sendTest()
      await guesser.untilError('blocked')
      const { webhook_url: _, last_failure_at: __, ...endpoint } = await guesser.health()
      seen.push([endpoint, (await configure(`https://10.0.0.1:${port}/`)).body.error.message])
    }
    expect(seen[0]).toEqual(seen[1])
  })

  test('only ever contains a documented value', async ({ rig }) => {
    const errors = await rig.system.query(
      `select distinct error from attempts_made where error is not null
        union select last_error from webhook_endpoints where last_error is not null`,
    )
    const unknown = errors
      .split('\n')
      .filter((error) => !/^http_\d{3}$/.test(error) && !VOCABULARY.includes(error))
    expect(unknown).toEqual([])
  })
})

test('all invariants hold after the tests above', ({ rig }) => rig.expectAllHolds())
