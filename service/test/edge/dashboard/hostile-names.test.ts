import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { DashboardRouteName } from '@shopwire/contract/dashboard'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smtpSender } from '../../../src/platform/mail/mail.ts'
import { refusalOf, type SignedInBrowser, sendRoute } from '../../../testing/dashboard.ts'
import { openWholeDashboard } from '../../../testing/dashboard-areas.ts'
import { itemOf, putItems, untilFollowed } from '../../../testing/items.ts'
import { sendDueMail } from '../../../testing/send-mail.ts'
import { openShop, type Shop } from '../../../testing/shop.ts'
import { routeNamed } from '../../../testing/two-accounts.ts'

/** Threat 66: names are text and nothing else, in answers, mails and files. */
const shown = [
  ['a script', '<script>alert(1)</script>'],
  ['an attribute', '"><img src=x onerror=alert(1)>'],
  ['a formula', '=HYPERLINK("https://evil.example","Open")'],
  ['another formula', "@SUM(1+1)*cmd|' /C calc'!A0"],
  ['emoji', '👩‍💻🏳️‍🌈'],
  ['as long as allowed', 'ä'.repeat(100)],
] as const
const refused = [
  ['a mark that reverses text', 'abc\u202Egpj.exe'],
  ['a header of a mail', 'x\r\nBcc: everybody@example.com'],
  ['a line of a log', 'x\n{"level":60}'],
  ['an escape sequence', 'x\u001b[2J'],
  ['a null character', 'x\u0000'],
  ['200 characters', 'x'.repeat(200)],
] as const

const FORMULA_ITEM = '1144058340327047009'

let shop: Shop
let dashboard: Awaited<ReturnType<typeof openWholeDashboard>>
let owner: SignedInBrowser

beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000, ordersMax: 1_000 } })
  dashboard = await openWholeDashboard(shop)
  owner = await dashboard.signIn(shop.account.id, 'owner', { isSteppedUp: true })
}, 60_000)
afterAll(async () => {
  await dashboard.close()
  await shop.close()
})

const send = (name: DashboardRouteName, sent = {}, person = owner) =>
  sendRoute(dashboard.port, routeNamed(name), person, sent)

async function read(name: DashboardRouteName, sent = {}, person = owner) {
  const answer = await send(name, sent, person)
  expect([name, answer.status, answer.headers['content-type']]).toEqual([
    name,
    200,
    'application/json; charset=utf-8',
  ])
  expect(answer.headers['x-content-type-options']).toBe('nosniff')
  return JSON.parse(answer.body)
}

describe('shown exactly as given', () => {
  test.each(shown)('%s', async (_what, name) => {
    await read('renamePerson', { body: { name } })
    const { key } = await read('createKey', { body: { name: 'plain', scopes: ['account:read'] } })
    expect((await read('renameKey', { body: { id: key.id, name } })).name).toBe(name)
    expect((await read('readKey', { id: key.id })).key.name).toBe(name)
    const created = { name, rights: ['events:listen'], with_links: false, days: 1 }
    expect((await read('createToken', { body: created })).token.name).toBe(name)
    const { members } = await read('getTeam')
    expect(members.map((member: { name: string }) => member.name)).toContain(name)
    const { rows } = await read('listAudit', { query: { target: key.id } })
    expect(JSON.stringify(rows)).toContain(JSON.stringify(name))

    const account = await shop.operator.createAccount(name)
    const theirs = await dashboard.signIn(account.id, 'owner', { isSteppedUp: true })
    expect(JSON.stringify(await read('getSession', {}, theirs))).toContain(JSON.stringify(name))

    const id = `114405834032704700${shown.findIndex(([, one]) => one === name)}`
    await putItems(shop.database.operator, [itemOf(id, { name })])
    await expect.poll(async () => (await send('getItem', { id })).status, { timeout: 10_000 }).toBe(200)
    expect((await read('getItem', { id })).item.name).toBe(name)
  })
})

describe('refused with the rule', () => {
  test.each(refused)('%s', async (_what, name) => {
    const { key } = await read('createKey', { body: { name: 'plain', scopes: ['account:read'] } })
    const attempts: readonly (readonly [DashboardRouteName, object])[] = [
      ['renamePerson', { name }],
      ['createKey', { name, scopes: ['account:read'] }],
      ['renameKey', { id: key.id, name }],
      ['createToken', { name, rights: ['events:listen'], with_links: false, days: 1 }],
    ]
    for (const [route, body] of attempts) {
      const answer = await send(route, { body })
      expect([route, answer.status, refusalOf(answer)]).toEqual([route, 400, 'invalid_request'])
      expect(JSON.parse(answer.body).error.message).toMatch(/character/)
    }
    await expect(shop.operator.createAccount(name)).rejects.toThrow(/characters/)
    expect((await read('readKey', { id: key.id })).key.name).toBe('plain')
  })
})

test('a mail has the headers we wrote, whatever the names in it', async () => {
  const received: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, _session, done) =>
      void text(stream).then((content) => {
        received.push(content)
        done()
      }, done),
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  const smtp = smtpSender(`smtp://127.0.0.1:${port}`, 'Shopwire <store@example.com>', { mustEncrypt: false })
  await shop.database.asOwner(`delete from jobs where queue = 'mail'; delete from outgoing_mail`)
  for (const [, name] of shown) {
    await read('renamePerson', { body: { name } })
    await read('createKey', { body: { name, scopes: ['account:read'] } })
    const account = await shop.operator.createAccount(name)
    const theirs = await dashboard.signIn(account.id, 'owner', { isSteppedUp: true })
    await read('invite', { body: { email: 'new@example.com', role: 'viewer' } }, theirs)
  }
  await sendDueMail({ db: shop.database.worker, keyring: shop.keyring, send: smtp.send })
  smtp.close()
  await new Promise<void>((resolve) => server.close(resolve))
  expect(received.length).toBeGreaterThanOrEqual(2 * shown.length)
  for (const mail of received) {
    const [head = ''] = mail.split('\r\n\r\n')
    const names = head
      .replaceAll(/\r\n[ \t]+/g, ' ')
      .split('\r\n')
      .map((line) => line.split(':')[0]?.toLowerCase())
    expect(new Set(names)).toEqual(
      new Set([
        'from',
        'to',
        'subject',
        'auto-submitted',
        'x-shopwire-mail',
        'message-id',
        'date',
        'mime-version',
        'content-type',
      ]),
    )
    expect(new Set(names).size).toBe(names.length)
    expect(head).toMatch(/content-type: multipart\/alternative/i)
  }
})

test('no cell of an export begins as a formula, and no name starts a row', async () => {
  const name = '=cmd|calc, "x"\r\nnext,row'
  await untilFollowed(
    shop.catalogue,
    await putItems(shop.database.operator, [itemOf(FORMULA_ITEM, { name })]),
  )
  await shop.operator.loadPool(FORMULA_ITEM, ['https://gift.example/claim/csv'])
  for (const reference of ['=1+1', '+1', '-1', '@SUM(1)'])
    await shop.operator.fundAccount(shop.account.id, { amount_cents: 1_000, reference, note: reference })
  const idempotency_key = '-formula'
  const body = JSON.stringify({ items: [{ id: FORMULA_ITEM, qty: 1 }], idempotency_key })
  expect((await shop.call('POST', '/v1/orders', { body })).status).toBe(201)
  for (const [route, cell] of [
    ['exportOrders', "'-formula"],
    ['exportStatement', "'=1+1"],
  ] as const) {
    const url = `http://127.0.0.1:${dashboard.port}${routeNamed(route).path}?account=${owner.account_id}`
    const answer = await fetch(url, { headers: { cookie: owner.cookie } })
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment/)
    const cells = cellsOf(await answer.text())
    const isNumber = (one: string) => /^-?\d+(\.\d+)?$/.test(one)
    expect(cells.flat().filter((one) => /^[=+\-@\t\r]/.test(one) && !isNumber(one))).toEqual([])
    expect(cells.flat()).toContain(cell)
    expect(new Set(cells.map(({ length }) => length)).size).toBe(1)
  }
})

/** As RFC 4180 defines it. */
function cellsOf(csv: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain = '', end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    rows.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === '\r\n') rows.push([])
    if (end === '') break
  }
  return rows.slice(0, -1)
}
