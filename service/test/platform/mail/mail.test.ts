import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createOperator } from '../../../src/operations/operator.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { type Db, statement } from '../../../src/platform/database/db.ts'
import { type Keyring, localKeks, openKeyring } from '../../../src/platform/encryption/encryption.ts'
import { createJobRunner } from '../../../src/platform/jobs/job-runner.ts'
import { finishJob, type Job, LeaseLostError, selectDeadLetters } from '../../../src/platform/jobs/jobs.ts'
import { createMailSender, queueMail, smtpSender } from '../../../src/platform/mail/mail.ts'
import { MAIL_QUEUE, MAIL_SLOTS } from '../../../src/platform/mail/mail-queue.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import { mailRunner } from '../../../src/programs/mail-wiring.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'
import { claimFromAllLanes } from '../../../testing/claim.ts'
import { openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

const KEY = randomBytes(32)
const LOST_KEY = randomBytes(32)
const keyring = openKeyring(localKeks(new Map([['k1', KEY]]), 'k1'))
const metrics = createMetrics('test')
const nowMs = Date.now()
let database: TestDatabase
let server: SMTPServer
let smtpUrl: string
let received: { to: string[]; content: string }[] = []
let refuse: (address: string) => (Error & { responseCode?: number }) | undefined = () => undefined
let logged = ''
const log = createLog('debug', {
  write(line: string) {
    logged += line
  },
})

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
  smtpUrl = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise<void>((resolve) => server.close(resolve))
  await database.close()
})
beforeEach(async () => {
  received = []
  refuse = () => undefined
  logged = ''
  await database.asOwner('delete from jobs; delete from outgoing_mail')
})

const action = { says: 'Open this:', label: 'Open', url: 'https://x.test/#token-value' }
const mail = { to: 'ada@example.com', letter: { subject: 'Hello', action } }
const mailOf = (url: string | undefined, ring: Keyring = keyring) =>
  mailRunner(
    {
      SHOPWIRE_SMTP_URL: url,
      SHOPWIRE_MAIL_FROM: 'Shopwire <store@example.com>',
      SHOPWIRE_ENV: 'production',
      SHOPWIRE_PLAINTEXT_HOSTS: [],
    },
    { db: database.worker, keyring: ring, log, metrics, identity: { assertConfirmed: async () => {} } },
  )
/** The part of a worker that sends mail, until none is due. */
async function work(ring?: Keyring) {
  const { runners, close } = mailOf(smtpUrl, ring)
  for (const runner of runners) runner.start()
  await expect.poll(async () => (await jobs()).filter(({ is_due }) => is_due)).toEqual([])
  for (const runner of runners) await runner.stop(5_000)
  close()
}
const sender = (db: Db, send: Parameters<typeof createMailSender>[0]['send']) =>
  createMailSender({ db, keyring, log, metrics, send })
const claimOne = async () =>
  (await claimFromAllLanes(database.worker, MAIL_QUEUE, { limit: 1, leaseMs: 0 }))[0] as Job
const makeDue = () => database.asOwner('update jobs set run_at = now()')
const counted = async (series: string) =>
  Number(
    (await metrics.registry.metrics())
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1] ?? 0,
  )
const givenUp = () => counted('shopwire_mail_given_up_total')
const mails = async () =>
  (
    await database.owner.many<{ to_address: string }>(
      statement('select to_address from outgoing_mail order by id', []),
    )
  ).map(({ to_address }) => to_address)
const jobs = () =>
  database.owner.many<{ attempts: number; failures: number; is_due: boolean; is_dead: boolean }>(
    statement(
      `select attempts, failures, run_at <= clock_timestamp() as is_due, dead_at is not null as is_dead
         from jobs where queue = 'mail' order by subject`,
      [],
    ),
  )

test('mail of the dashboard is sent once, as text and as HTML, and nothing of it is kept; the dashboard cannot read any', async () => {
  await queueMail(database.dashboard, keyring, mail, nowMs)
  await expect(database.dashboard.many(statement('select id from outgoing_mail', []))).rejects.toThrow(
    'permission denied',
  )
  await Promise.all([work(), work()])
  expect(received).toHaveLength(1)
  expect(received[0]?.to).toEqual(['ada@example.com'])
  expect(received[0]?.content).toContain('token-value')
  expect(received[0]?.content).toMatch(
    /^Content-Type: multipart\/alternative[\s\S]*^Content-Type: text\/plain[\s\S]*^Content-Type: text\/html/m,
  )
  expect(received[0]?.content).toMatch(/^From: Shopwire <store@example.com>/m)
  expect([await mails(), await jobs()]).toEqual([[], []])
  expect(logged).toContain('a mail was sent')
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
  await work()
  expect(received.map(({ to }) => to)).toEqual([['bob@example.com']])
  expect([await mails(), await jobs()]).toEqual([[], []])
  expect((await givenUp()) - before).toBe(1)
  expect(logged).toContain('a mail cannot be decrypted and was given up')
})

test('a mail whose key is not configured is tried again, and sent when the key is back', async () => {
  const both = new Map([
    ['k1', KEY],
    ['k2', LOST_KEY],
  ])
  await queueMail(database.worker, keyring, mail, nowMs)
  await queueMail(
    database.worker,
    openKeyring(localKeks(both, 'k2')),
    { ...mail, to: 'bob@example.com' },
    nowMs,
  )
  await work()
  expect(received.map(({ to }) => to)).toEqual([['ada@example.com']])
  expect(await mails()).toEqual(['bob@example.com'])
  expect(await jobs()).toMatchObject([{ failures: 1 }])
  expect(logged).toContain('encryption key \\"k2\\", which is not configured')
  await makeDue()
  await work(openKeyring(localKeks(both, 'k1')))
  expect(received.map(({ to }) => to)).toEqual([['ada@example.com'], ['bob@example.com']])
})

test('a mail of a transaction that failed is not sent', async () => {
  await database.owner
    .transaction(async (tx) => {
      await queueMail(tx, keyring, mail, nowMs)
      throw new Error('undone')
    })
    .catch(() => {})
  expect([await mails(), await jobs()]).toEqual([[], []])
})

test('a passing failure is tried again later, a refused recipient is given up at once', async () => {
  refuse = (address) =>
    Object.assign(new Error(`not now, ${address}`), { responseCode: address.startsWith('gone') ? 550 : 451 })
  await queueMail(database.worker, keyring, mail, nowMs)
  await queueMail(database.worker, keyring, { ...mail, to: 'gone@example.com' }, nowMs)
  const before = await givenUp()
  await work()
  expect(await mails()).toEqual(['ada@example.com'])
  expect(await jobs()).toEqual([{ attempts: 1, failures: 1, is_due: false, is_dead: false }])
  expect((await givenUp()) - before).toBe(1)
  expect(logged).toMatch(/did not take a mail \(EENVELOPE 451\)/)
  expect(logged).not.toContain('@example.com')
  refuse = () => undefined
  await makeDue()
  await work()
  expect(received).toHaveLength(1)
  expect(await mails()).toEqual([])
})

test('a mail that fails too often is a dead letter with its reason, which an operator sends or drops', async () => {
  const operator = createOperator(
    {
      db: database.operator,
      keyring,
      clock: systemClock,
      cell: 'c1',
      admission: () => Promise.reject(new Error('not used')),
    },
    'test',
  )
  const [sent, dropped] = [
    await queueMail(database.worker, keyring, mail, nowMs),
    await queueMail(database.worker, keyring, mail, nowMs + 1),
  ]
  refuse = () => Object.assign(new Error('never'), { responseCode: 451 })
  await database.asOwner('update jobs set failures = 44')
  const before = await counted('shopwire_dead_letters_total{queue="mail"}')
  await work()
  expect(await jobs()).toMatchObject([{ is_dead: true }, { is_dead: true }])
  expect((await counted('shopwire_dead_letters_total{queue="mail"}')) - before).toBe(2)
  const dead = await selectDeadLetters(database.operator, 10)
  expect(dead.map(({ subject }) => subject).sort()).toEqual([sent, dropped])
  for (const { note } of dead) expect(note).toContain('MailNotTakenError EENVELOPE')
  refuse = () => undefined
  await operator.dropDeadLetter(dropped, 'nobody waits for it')
  expect(await operator.retryDeadLetters(sent)).toEqual({ orders: 0, endpoints: 0, mails: 1 })
  await work()
  expect(received).toHaveLength(1)
  expect([await mails(), await jobs()]).toEqual([[], []])
})

test('a mail that was taken up fifty times is given up, whatever became of it', async () => {
  await queueMail(database.worker, keyring, mail, nowMs)
  await database.asOwner('update jobs set attempts = 50')
  const before = await givenUp()
  await work()
  expect(received).toEqual([])
  expect([await mails(), await jobs()]).toEqual([[], []])
  expect((await givenUp()) - before).toBe(1)
  expect(logged).toContain('a mail was tried too often')
})

test('a mail whose worker is killed after sending it is sent once more by another one, under the same id', async () => {
  const id = await queueMail(database.worker, keyring, mail, nowMs)
  const job = await claimOne()
  const smtp = smtpSender(smtpUrl, 'store@example.com', { mustEncrypt: false })
  const [isSent, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const killed: Db = {
    ...database.worker,
    async transaction(end) {
      isSent.resolve()
      await goOn.promise
      return database.worker.transaction(end)
    },
  }
  const ending = sender(killed, smtp.send)(job)
  await isSent.promise
  await work()
  expect(received.map(({ content }) => /^X-Shopwire-Mail: (.*)$/m.exec(content)?.[1]?.trim())).toEqual([
    id,
    id,
  ])
  expect([await mails(), await jobs()]).toEqual([[], []])
  // It was only slow: it is told that the mail is no longer its own.
  goOn.resolve()
  await expect(ending).rejects.toThrow(LeaseLostError)
  smtp.close()
})

test('a mail server that hangs takes the slots of mail and of nothing else', async () => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => sockets.add(socket.on('error', () => {})))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  for (let n = 0; n < 2 * MAIL_SLOTS; n += 1) await queueMail(database.worker, keyring, mail, nowMs + n)
  const { runners, close } = mailOf(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`)
  const others = createJobRunner(database.worker, {
    queue: 'other',
    subjectName: 'subject',
    concurrency: 2,
    log,
    metrics,
    async work(job) {
      await database.worker.transaction((tx) => finishJob(tx, job))
      return { kind: 'done' }
    },
  })
  for (const runner of [...runners, others]) runner.start()
  await expect.poll(() => sockets.size).toBe(MAIL_SLOTS)
  await database.asOwner(
    `insert into jobs (queue, subject, run_at, created_at) select 'other', n, now(), now() from generate_series(1, 50) n`,
  )
  const left = () => database.owner.many(statement(`select subject from jobs where queue = 'other'`, []))
  await expect.poll(left).toEqual([])
  expect(runners.map((runner) => runner.running())).toEqual([MAIL_SLOTS])
  expect(await mails()).toHaveLength(2 * MAIL_SLOTS)
  silent.close()
  for (const socket of sockets) socket.destroy()
  await Promise.all([...runners, others].map((runner) => runner.stop(5_000)))
  close()
})

test('without a mail server mail waits, and one line says so', async () => {
  await queueMail(database.worker, keyring, mail, nowMs)
  expect(mailOf(undefined).runners).toEqual([])
  expect(logged.match(/SHOPWIRE_SMTP_URL/g)).toHaveLength(1)
  expect(await jobs()).toMatchObject([{ attempts: 0, is_due: true }])
})

test('a server that offers no STARTTLS gets no mail when it has to be encrypted', async () => {
  const encrypted = smtpSender(smtpUrl, 'store@example.com', { mustEncrypt: true })
  await database.worker.transaction((tx) => queueMail(tx, keyring, mail, nowMs))
  const sending = sender(database.worker, encrypted.send)(await claimOne())
  await expect(sending).rejects.toThrow('did not take a mail')
  encrypted.close()
  expect(received).toEqual([])
  expect(await mails()).toEqual(['ada@example.com'])
})
