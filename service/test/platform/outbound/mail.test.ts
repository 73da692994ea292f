import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { statement } from '../../../src/platform/database/db.ts'
import { localKeks, openKeyring } from '../../../src/platform/encryption/encryption.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import {
  createMailSender,
  deleteOldMail,
  queueMail,
  smtpSender,
} from '../../../src/platform/outbound/mail.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'
import { openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

const keyring = openKeyring(localKeks(new Map([['k1', randomBytes(32)]]), 'k1'))
const metrics = createMetrics('test')
const HOUR_MS = 3_600_000
let database: TestDatabase
let server: SMTPServer
let smtp: ReturnType<typeof smtpSender>
let received: { to: string[]; content: string }[] = []
let refuse: (address: string) => (Error & { responseCode?: number }) | undefined = () => undefined
let nowMs = Date.now()
let logged = ''

beforeAll(async () => {
  database = await openTestDatabase()
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo: ({ address }, _session, callback) => callback(refuse(address)),
    onData(stream, session, callback) {
      text(stream).then((content) => {
        received.push({ to: session.envelope.rcptTo.map(({ address }) => address), content })
        callback()
      }, callback)
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  smtp = smtpSender(`smtp://127.0.0.1:${port}`, 'Shopwire <store@example.com>', { mustEncrypt: false })
})
afterAll(async () => {
  smtp.close()
  await new Promise<void>((resolve) => server.close(resolve))
  await database.close()
})
beforeEach(async () => {
  received = []
  refuse = () => undefined
  logged = ''
  await database.asOwner('delete from outgoing_mail')
})

const mail = { to: 'ada@example.com', subject: 'Hello', text: 'Open this:\nhttps://x.test/#token-value\n' }
const sender = (send = smtp.send as typeof smtp.send | undefined) =>
  createMailSender({
    db: database.worker,
    keyring,
    clock: { nowMs: () => nowMs },
    log: createLog('debug', {
      write(line: string) {
        logged += line
      },
    }),
    metrics,
    send,
  })
const givenUp = async () =>
  Number(/^shopwire_mail_given_up_total (\d+)/m.exec(await metrics.registry.metrics())?.[1] ?? 0)
const rows = () =>
  database.owner.many<{ attempts: number; sent_at: Date | null; failed_at: Date | null; has_body: boolean }>(
    statement(
      'select attempts, sent_at, failed_at, body_sealed is not null as has_body from outgoing_mail order by id',
      [],
    ),
  )

test('mail of the dashboard is sent once, in plain text, and its body erased; the dashboard cannot read any', async () => {
  await queueMail(database.dashboard, keyring, mail, nowMs)
  await expect(database.dashboard.many(statement('select id from outgoing_mail', []))).rejects.toThrow(
    'permission denied',
  )
  const [one, two] = [sender(), sender()]
  const counts = await Promise.all([one(), two()])
  expect(counts.reduce((sum, n) => sum + n, 0)).toBe(1)
  expect(received).toHaveLength(1)
  expect(received[0]?.to).toEqual(['ada@example.com'])
  expect(received[0]?.content).toContain('token-value')
  expect(received[0]?.content).toMatch(/^Content-Type: text\/plain/m)
  expect(received[0]?.content).toMatch(/^From: Shopwire <store@example.com>/m)
  expect(await rows()).toMatchObject([{ attempts: 1, has_body: false, failed_at: null }])
  expect(await one()).toBe(0)
  expect(logged).not.toContain('token-value')
  expect(logged).not.toContain('ada@example.com')
})

test('a damaged mail is given up alone, is counted and logged, and the others are sent', async () => {
  const damaged = await queueMail(database.worker, keyring, mail, nowMs)
  await queueMail(database.worker, keyring, { ...mail, to: 'bob@example.com' }, nowMs)
  await database.asOwner(
    `update outgoing_mail set body_sealed = set_byte(body_sealed, length(body_sealed) - 1, 0) || 'x' where id = '${damaged}'`,
  )
  const before = await givenUp()
  expect(await sender()()).toBe(2)
  expect(received.map(({ to }) => to)).toEqual([['bob@example.com']])
  expect(await rows()).toMatchObject([
    { failed_at: expect.any(Date), has_body: false },
    { failed_at: null, sent_at: expect.any(Date) },
  ])
  expect((await givenUp()) - before).toBe(1)
  expect(logged).toContain('a mail cannot be decrypted and was given up')
})

test('a mail whose key is not configured is tried again, and sent when the key is back', async () => {
  const other = openKeyring(localKeks(new Map([['k2', randomBytes(32)]]), 'k2'))
  await queueMail(database.worker, keyring, mail, nowMs)
  await queueMail(database.worker, other, { ...mail, to: 'bob@example.com' }, nowMs)
  expect(await sender()()).toBe(2)
  expect(received.map(({ to }) => to)).toEqual([['ada@example.com']])
  expect(await rows()).toMatchObject([
    { failed_at: null },
    { failed_at: null, sent_at: null, has_body: true },
  ])
  expect(logged).toContain('a mail cannot be decrypted without its key; it is tried again')
})

test('a mail of a transaction that failed is not sent', async () => {
  await database.owner
    .transaction(async (tx) => {
      await queueMail(tx, keyring, mail, nowMs)
      throw new Error('undone')
    })
    .catch(() => {})
  expect(await sender()()).toBe(0)
})

test('a passing failure is tried again later, a refused recipient is given up at once', async () => {
  refuse = (address) =>
    Object.assign(new Error('not now'), { responseCode: address.startsWith('gone') ? 550 : 451 })
  await queueMail(database.worker, keyring, mail, nowMs)
  await queueMail(database.worker, keyring, { ...mail, to: 'gone@example.com' }, nowMs)
  expect(await sender()()).toBe(2)
  expect(await rows()).toMatchObject([
    { attempts: 1, failed_at: null, has_body: true },
    { attempts: 1, has_body: false, failed_at: expect.any(Date) },
  ])
  expect(await sender()()).toBe(0)
  refuse = () => undefined
  nowMs += HOUR_MS
  expect(await sender()()).toBe(1)
  expect(received).toHaveLength(1)
})

test('after twelve attempts a mail is given up', async () => {
  refuse = () => Object.assign(new Error('never'), { responseCode: 451 })
  await queueMail(database.worker, keyring, mail, nowMs)
  for (let n = 0; n < 12; n += 1) {
    expect(await sender()()).toBe(1)
    nowMs += 2 * HOUR_MS
  }
  expect(await sender()()).toBe(0)
  expect(await rows()).toMatchObject([{ attempts: 12, failed_at: expect.any(Date), has_body: false }])
})

test('without a mail server mail waits, and one line says so', async () => {
  await queueMail(database.worker, keyring, mail, nowMs)
  const send = createMailSender({
    db: database.worker,
    keyring,
    clock: { nowMs: () => nowMs },
    log: createLog('debug', {
      write(line: string) {
        logged += line
      },
    }),
    metrics,
    send: undefined,
  })
  await send()
  await send()
  expect(logged.match(/SHOPWIRE_SMTP_URL/g)).toHaveLength(1)
  expect(await rows()).toMatchObject([{ attempts: 0, has_body: true }])
})

test('mail that was sent a month ago is removed, waiting mail is not', async () => {
  await queueMail(database.worker, keyring, mail, nowMs)
  await sender()()
  await queueMail(database.worker, keyring, mail, nowMs)
  expect(await deleteOldMail(database.worker, nowMs + 31 * 24 * HOUR_MS)).toBe(1)
  expect(await rows()).toHaveLength(1)
})

test('a server that offers no STARTTLS gets no mail when it has to be encrypted', async () => {
  const { port } = server.server.address() as AddressInfo
  const encrypted = smtpSender(`smtp://127.0.0.1:${port}`, 'store@example.com', { mustEncrypt: true })
  await database.worker.transaction((tx) => queueMail(tx, keyring, mail, nowMs))
  await sender(encrypted.send)()
  encrypted.close()
  expect(received).toEqual([])
  expect(logged).toMatch(/could not be sent; it is tried again/)
})
