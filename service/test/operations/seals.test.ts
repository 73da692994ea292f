import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportSealed } from '../../src/operations/seals/export.ts'
import { selectDigests } from '../../src/operations/seals/queries.ts'
import { checkChains } from '../../src/operations/seals/read-chains.ts'
import { sealNext } from '../../src/operations/seals/sealer.ts'
import { verifyExport } from '../../src/operations/verify.ts'
import { recordAction } from '../../src/platform/database/audit.ts'
import {
  type Db,
  openDatabase,
  type Queryable,
  type Statement,
  sql,
  statement,
} from '../../src/platform/database/db.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { memberOf, signIn } from '../../testing/member.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

// Threat 70: whoever has the database, even as its superuser, changes what was booked or recorded.

const HOUR_MS = 3_600_000
const DAYS = 3
const ALTERATIONS = process.env.SHOPWIRE_LONG === '1' ? 1_000 : 170
const CLEAN = { C01: [], C02: [], C03: [] }

let shop: Shop
let client: pg.Client
let folder: string
let nowMs = Date.now()
const accounts: string[] = []

beforeAll(async () => {
  shop = await openShop()
  client = new pg.Client({ connectionString: shop.database.superuserUrl })
  await client.connect()
  folder = await mkdtemp(join(tmpdir(), 'shopwire-seals-'))
  for (let n = 0; n < 3; n += 1) accounts.push((await shop.operator.createAccount(`Account ${n}`)).id)
  for (let day = 0; day < DAYS; day += 1) {
    for (let round = 0; round < 2; round += 1) {
      for (const account of accounts) await write(account, 3)
      await sealAll()
    }
    nowMs += 24 * HOUR_MS
  }
  await client.query('set session_replication_role = replica')
})
afterAll(async () => {
  await client?.end()
  await shop?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Audit rows and transfers, as operators and people write them. */
let written = 0
async function write(account_id: string, count: number) {
  await signIn(shop.database, memberOf(account_id))
  for (let n = 0; n < count; n += 1) {
    written += 1
    await shop.operator.fundAccount(account_id, {
      amount_cents: 1_000 + written,
      reference: `reference ${written}`,
    })
    await recordAction(shop.database.dashboard, {
      actor: 'person:person_ada',
      action: 'webhook.set',
      target: account_id,
      account_id: written % 4 === 0 ? undefined : account_id,
      address: '203.0.113.9',
      request_id: `req_${written}`,
      details: { after: { url: `https://example.com/${written}` }, order_id: `ord_${written}` },
    } as Parameters<typeof recordAction>[1])
  }
}

async function sealAll() {
  nowMs += HOUR_MS
  while (await sealNext(shop.database.worker, nowMs));
}

/** On the superuser's connection, so that what it changed and has not committed is seen. */
const asSuperuser: Queryable = {
  many: async <Row extends object>({ text, values }: Statement) =>
    (await client.query({ text, values: [...values], types: TYPES })).rows as Row[],
  async one<Row extends object>(of: Statement) {
    return (await asSuperuser.many<Row>(of))[0] as Row
  },
  maybeOne: async <Row extends object>(of: Statement) => (await asSuperuser.many<Row>(of))[0],
  run: async ({ text, values }) => (await client.query(text, [...values])).rowCount ?? 0,
}
const TYPES = {
  getTypeParser: ((oid: number, format: 'text') =>
    oid === 20 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

async function afterwards(alter: () => Promise<unknown>, published = '') {
  await client.query('begin')
  try {
    await alter()
    return await checkChains(asSuperuser, published === '' ? [] : parsePublished(published))
  } finally {
    await client.query('rollback')
  }
}
const parsePublished = (text: string) =>
  text.split('\n').map((line) => {
    const [no, day = '', hash = ''] = line.split(' ')
    return { no: Number(no), day, hash }
  })

/** Numbers that a seed determines. */
function seeded(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (max: number) => Math.floor(next() * max)
  return { below, pick: <One>(all: readonly One[]) => all[below(all.length)] as One }
}

interface TransferPlace {
  account_id: string
  seq: number
}
interface AuditPlace {
  id: string
  place: number
  chain: string
}
type Random = ReturnType<typeof seeded>

test(`${ALTERATIONS} random alterations by a superuser are all found, each with its first bad row`, async () => {
  const transfers = await asSuperuser.many<TransferPlace>(sql`
    select account_id, seq
      from transfers
     where account_id = any (${accounts})
     order by account_id, seq`)
  const audit = await asSuperuser.many<AuditPlace>(sql`
    select r.id, (s.no * 10000 + r.n)::int as place, s.chain
      from seal_segments s, unnest(s.row_ids) with ordinality as r (id, n)
     order by r.id`)
  const published = (await selectDigests(asSuperuser))
    .map(({ no, day, hash }) => `${no} ${day} ${hash}`)
    .join('\n')
  expect(transfers.length).toBe(54)
  expect(audit.length).toBeGreaterThan(100)
  expect(await afterwards(async () => {}, published)).toEqual(CLEAN)

  const run = (text: string, ...values: unknown[]) => client.query(text, values)
  /** Each returns what has to be reported first. */
  const kinds: Record<string, (random: Random) => Promise<string>> = {
    async 'one byte of a transfer'({ pick, below }) {
      const { account_id, seq } = pick(transfers)
      const column = pick(['reference', 'kind', 'note', 'change_cents', 'balance_after_cents', 'created_at'])
      await run(
        'alter table transfers drop constraint if exists transfers_direction, drop constraint if exists transfers_kind_check',
      )
      await run(
        `update transfers set ${column} = ${changed(column, below(1_000))} where account_id = $1 and seq = $2`,
        account_id,
        seq,
      )
      return `transfer ${account_id}/${seq} altered`
    },
    async 'one byte of an audit row'({ pick, below }) {
      const { id } = pick(audit)
      const column = pick([
        'at',
        'actor',
        'action',
        'target',
        'request_id',
        'address',
        'details',
        'kept details',
      ])
      const [set, value] =
        column === 'kept details'
          ? ['details', `details || '{"order_id": "ord_x"}'`]
          : [column, changed(column, below(1_000))]
      await run(`update audit_log set ${set} = ${value} where id = $1`, id)
      return `audit row ${id} altered`
    },
    async 'a whole transfer'({ pick, below }) {
      const { account_id, seq } = pick(transfers)
      await run('alter table transfers drop constraint if exists transfers_direction')
      await run(
        `update transfers set change_cents = $3, reference = 'forged', created_at = now() where account_id = $1 and seq = $2`,
        account_id,
        seq,
        below(100_000),
      )
      return `transfer ${account_id}/${seq} altered`
    },
    async 'a whole audit row, marked as erased'({ pick }) {
      const { id } = pick(audit)
      await run(
        `update audit_log set actor = 'cli:nobody', address = null, details = '{"erased": true}' where id = $1`,
        id,
      )
      return `audit row ${id} altered`
    },
    async 'two swapped transfers'({ pick }) {
      const { account_id, seq } = pick(transfers)
      const other = pick(transfers.filter((one) => one.account_id === account_id && one.seq !== seq)).seq
      await run(
        'update transfers set seq = seq + 1000000 where account_id = $1 and seq = any ($2)',
        account_id,
        [seq, other],
      )
      await run(
        'update transfers set seq = $2 where account_id = $1 and seq = 1000000 + $3::bigint',
        account_id,
        seq,
        other,
      )
      await run(
        'update transfers set seq = $2 where account_id = $1 and seq = 1000000 + $3::bigint',
        account_id,
        other,
        seq,
      )
      return `transfer ${account_id}/${Math.min(seq, other)} altered`
    },
    async 'two swapped audit rows'({ pick }) {
      const one = pick(audit)
      const other = pick(audit.filter(({ id, chain }) => chain === one.chain && id !== one.id))
      await run(`update audit_log set id = 'x' where id = $1`, one.id)
      await run('update audit_log set id = $2 where id = $1', other.id, one.id)
      await run(`update audit_log set id = $1 where id = 'x'`, other.id)
      return `audit row ${one.place < other.place ? one.id : other.id} altered`
    },
    async 'a removed transfer'({ pick }) {
      const { account_id, seq } = pick(transfers)
      await run('delete from transfers where account_id = $1 and seq = $2', account_id, seq)
      return `transfer ${account_id}/${seq} removed`
    },
    async 'a removed transfer, with those behind it moved up'({ pick }) {
      const { account_id, seq } = pick(transfers)
      await run('delete from transfers where account_id = $1 and seq = $2', account_id, seq)
      const last = Math.max(...transfers.filter((one) => one.account_id === account_id).map((one) => one.seq))
      await run(
        'update transfers set seq = seq + 1000000 where account_id = $1 and seq > $2',
        account_id,
        seq,
      )
      await run(
        'update transfers set seq = seq - 1000001 where account_id = $1 and seq > 1000000',
        account_id,
      )
      return `transfer ${account_id}/${seq} ${seq === last ? 'removed' : 'altered'}`
    },
    async 'a removed audit row'({ pick }) {
      const { id } = pick(audit)
      await run('delete from audit_log where id = $1', id)
      return `audit row ${id} removed`
    },
    async 'an inserted transfer, with those behind it moved down'({ pick }) {
      const { account_id, seq } = pick(transfers)
      await run(
        'update transfers set seq = seq + 1000000 where account_id = $1 and seq >= $2',
        account_id,
        seq,
      )
      await run('update transfers set seq = seq - 999999 where account_id = $1 and seq > 1000000', account_id)
      await insertTransfer(account_id, seq)
      return `transfer ${account_id}/${seq} altered`
    },
    async 'a transfer inserted beside another with its number'({ pick }) {
      const { account_id, seq } = pick(transfers)
      await run('alter table transfers drop constraint transfers_pkey cascade')
      await insertTransfer(account_id, seq)
      return `transfer ${account_id}/${seq} `
    },
    async 'an inserted audit row'({ pick, below }) {
      const { id } = pick(audit)
      const forged = `${id.slice(0, -4)}${String(below(10_000)).padStart(4, '0')}`
      await run(
        `insert into audit_log (id, at, actor, action, target, account_id, address, request_id, details)
         select $2, at, actor, action, target, account_id, address, request_id, details from audit_log where id = $1`,
        id,
        forged,
      )
      return `audit row ${forged} inserted`
    },
    async 'a removed tail of transfers'({ pick }) {
      const { account_id, seq } = pick(transfers)
      await run('delete from transfers where account_id = $1 and seq >= $2', account_id, seq)
      return `transfer ${account_id}/${seq} removed`
    },
    async 'a removed tail of rows, segments and digests'({ below }) {
      const last = 1 + below(DAYS - 1)
      const { last_segment } = await asSuperuser.one<{ last_segment: number }>(
        sql`select last_segment from seal_digests where no = ${last}`,
      )
      await run(
        `delete from transfers t using seal_segments s where s.id > $1 and s.chain = t.account_id and t.seq between s.first_seq and s.last_seq`,
        last_segment,
      )
      await run(
        `delete from audit_log where id in (select unnest(row_ids) from seal_segments where id > $1)`,
        last_segment,
      )
      await run('delete from seal_segments where id > $1', last_segment)
      await run('delete from seal_digests where no > $1', last)
      return `digest ${last + 1} of `
    },
    async 'a changed segment'({ below }) {
      const { id, chain, kind, no } = await anySegment(below)
      await run(
        `update seal_segments set rows_hash = sha256(rows_hash), marks = sha256(marks) where id = $1`,
        id,
      )
      return `segment ${chain}/${kind}/${no} altered`
    },
    async 'a removed segment'({ below }) {
      const { id } = await anySegment(below)
      await run('delete from seal_segments where id = $1', id)
      return `segment ${id} removed`
    },
    async 'a changed digest'({ below }) {
      const no = 1 + below(DAYS)
      await run('update seal_digests set hash = sha256(hash) where no = $1', no)
      return `digest ${no} of `
    },
  }
  const insertTransfer = (account_id: string, seq: number) =>
    run(
      `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, reference, created_at)
       values ($1, $2, 'funding', 1, 1, 'forged', now())`,
      account_id,
      seq,
    )
  const anySegment = async (below: Random['below']) => {
    const all = await asSuperuser.many<{ id: number; chain: string; kind: string; no: number }>(
      sql`select id, chain, kind, no from seal_segments order by id`,
    )
    // Not the last: whether there was one more is said by the digests alone, and those are of another kind here.
    return all[below(all.length - 1)] as (typeof all)[number]
  }

  const names = Object.keys(kinds)
  const missed: unknown[] = []
  for (let seed = 1; seed <= ALTERATIONS; seed += 1) {
    const name = names[seed % names.length] as string
    let expected = ''
    const found = await afterwards(async () => {
      expected = (await kinds[name]?.(seeded(seed))) ?? ''
    }, published)
    // Of the rule that it begins with; a removed segment, for one, leaves rows behind too.
    const first = [found.C01[0], found.C02[0], found.C03[0]]
    if (expected === '' || !first.some((wrong) => wrong?.startsWith(expected)))
      missed.push({ seed, name, expected, found })
  }
  expect(missed).toEqual([])
}, 600_000)

/** Another value of that column, different in one place. */
function changed(column: string, n: number): string {
  if (column.endsWith('_cents')) return `${column} + ${n + 1}`
  if (column === 'at' || column === 'created_at') return `${column} + interval '1 microsecond'`
  if (column === 'details') return `jsonb_set(details, '{after}', '{"url": "https://example.org/${n}"}')`
  if (column === 'note') return `'${n}'`
  return `overlay(coalesce(${column}, '') placing '!' from 1 + ${n} % greatest(char_length(${column}), 1) for 1)`
}

test('a row committed after one with a later id was sealed is sealed by the next round', async () => {
  const [account_id = ''] = accounts
  const late = new pg.Client({ connectionString: shop.database.ownerUrl })
  await late.connect()
  const entry = (id: string) =>
    [
      `insert into audit_log (id, at, actor, action, target, account_id, details)
       values ($1, now(), 'cli:test', 'test', 'x', $2, '{}')`,
      [id, account_id],
    ] as [string, string[]]
  const isSealed = async (id: string) =>
    (
      await shop.database.owner.one<{ is_sealed: boolean }>(
        sql`select exists (select from seal_segments where ${id} = any (row_ids)) as is_sealed`,
      )
    ).is_sealed
  try {
    await late.query('begin')
    await late.query(...entry('aud_1'))
    await shop.database.owner.run(statement(...entry('aud_2')))
    await sealAll()
    expect([await isSealed('aud_1'), await isSealed('aud_2')]).toEqual([false, true])
    await late.query('commit')
    expect(await checkChains(shop.database.operator)).toEqual(CLEAN)
    await sealAll()
    expect(await isSealed('aud_1')).toBe(true)
    expect(await checkChains(shop.database.operator)).toEqual(CLEAN)
  } finally {
    await late.end()
  }
})

test('while transfers are booked without a pause, every one is sealed once, in order', async () => {
  const [, account_id = ''] = accounts
  let isDone = false
  const booking = Promise.all([write(account_id, 15), write(accounts[2] as string, 15)]).then(() => {
    isDone = true
  })
  while (!isDone) await sealAll()
  await booking
  await sealAll()
  expect(await checkChains(shop.database.operator)).toEqual(CLEAN)
  const unsealed = await shop.database.owner.many(sql`
    select b.account_id
      from balances b
     where b.transfer_count <> (select coalesce(sum(row_count), 0)
                                  from seal_segments s
                                 where s.chain = b.account_id
                                   and s.kind = 'transfers')`)
  expect(unsealed).toEqual([])
})

test('nobody changes or removes what was sealed: the owner is refused by triggers, the worker by its rights', async () => {
  const owner = new pg.Client({ connectionString: shop.database.ownerUrl })
  const worker = new pg.Client({ connectionString: shop.database.processUrls.worker })
  await Promise.all([owner.connect(), worker.connect()])
  const attempts = [
    'update seal_segments set no = no',
    'delete from seal_segments',
    'truncate seal_segments',
    'update seal_digests set no = no',
    'delete from seal_digests',
    'truncate seal_digests',
    'update seal_commitments set commitment = salt where salt is not null',
    'delete from seal_commitments',
    'truncate seal_commitments',
  ]
  try {
    for (const text of attempts) {
      await expect(owner.query(text), text).rejects.toMatchObject({ code: '23514' })
      await expect(worker.query(text), text).rejects.toMatchObject({ code: '42501' })
    }
  } finally {
    await Promise.all([owner.end(), worker.end()])
  }
})

test("the worker's rights are enough to seal, the operator's to check and export", async () => {
  await write(accounts[0] as string, 1)
  const [asWorker, asOperator] = [shop.database.processUrls.worker, shop.database.processUrls.operator].map(
    (url) => openDatabase({ ...LIMITS, url }, () => {}),
  ) as [Db, Db]
  try {
    nowMs += HOUR_MS
    while (await sealNext(asWorker, nowMs));
    expect(await checkChains(asOperator)).toEqual(CLEAN)
    await exportSealed(asOperator, join(folder, 'by-operator.jsonl'))
  } finally {
    await Promise.all([asWorker.close(), asOperator.close()])
  }
})
const LIMITS = {
  application_name: 'test',
  connectionsMax: 2,
  connectMsMax: 5_000,
  statementMsMax: 5_000,
  lockMsMax: 2_000,
  namedStatements: true,
}

test('an erased account leaves rows that fit, and no salt; a row that only says so does not fit', async () => {
  const { id } = await shop.operator.createAccount('To be erased')
  await write(id, 3)
  await shop.operator.adjustAccount(id, {
    change_cents: -(await balanceOf(id)),
    reference: 'payout',
    note: 'payout',
  })
  await sealAll()
  const salts = () =>
    shop.database.owner.one<{ salts: number }>(sql`
      select count(c.salt) as salts
        from audit_log a
        join seal_commitments c on c.audit_id = a.id
       where a.account_id = ${id}`)
  expect((await salts()).salts).toBeGreaterThan(0)
  await shop.operator.closeAccount(id, 'asked for it')
  await shop.operator.eraseAccount(id)
  expect((await salts()).salts).toBe(0)
  await sealAll()
  expect(await checkChains(shop.database.operator)).toEqual(CLEAN)
  const kept = await shop.database.owner.many<{ id: string }>(sql`
    select id from audit_log where account_id = ${accounts[0]} and address is not null order by id limit 1`)
  const found = await afterwards(() =>
    client.query(
      `update audit_log set address = null, details = '{"erased": true}' || audit_details_kept(details) where id = $1`,
      [kept[0]?.id],
    ),
  )
  expect(found.C01).toEqual([`audit row ${kept[0]?.id} altered`])
  // Nor does it without its salt: no account that it is about was erased.
  const without = await afterwards(async () => {
    await client.query(
      `update audit_log set address = null, details = '{"erased": true}' || audit_details_kept(details) where id = $1`,
      [kept[0]?.id],
    )
    await client.query('update seal_commitments set salt = null where audit_id = $1', [kept[0]?.id])
  })
  expect(without.C01).toEqual([`audit row ${kept[0]?.id} altered`])
})
const balanceOf = async (id: string) =>
  (
    await shop.database.owner.one<{ balance_cents: number }>(
      sql`select balance_cents from balances where account_id = ${id}`,
    )
  ).balance_cents

test('an export is checked without a database: rows altered, swapped, removed and inserted in it are named', async () => {
  const path = join(folder, 'sealed.jsonl')
  const { code, out } = await runAdminOn(shop, 'seal', 'export', '--file', path)
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/\d+ segments, \d+ lines\./) })
  expect((await runAdminOn(shop, 'seal', 'export', '--file', path)).err).toMatch(
    /name that does not exist yet/,
  )
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  const [account_id] = accounts
  const at = (seq: number) =>
    lines.findIndex((line) => line.startsWith(`{"row":["transfer 1","${account_id}","${seq}"`))
  const text = lines.join('\n')
  expect(text).not.toMatch(/203\.0\.113|example\.com/)

  const check = async (changed: readonly string[]) => {
    const altered = join(folder, 'altered.jsonl')
    await writeFile(altered, `${changed.join('\n')}\n`)
    return (await verifyExport(altered)).map(({ ids }) => ids)
  }
  expect(await check(lines)).toEqual([[], [], []])
  const byte = lines.with(
    at(5),
    (lines[at(5)] as string).replace(/"(funding|adjustment|order|refund)"/, '"gift"'),
  )
  expect(await check(byte)).toEqual([[`transfer ${account_id}/5 altered`], [], []])
  const swapped = lines.with(at(2), lines[at(3)] as string).with(at(3), lines[at(2)] as string)
  expect(await check(swapped)).toEqual([[`transfer ${account_id}/2 removed`], [], []])
  expect(await check(lines.toSpliced(at(4), 1))).toEqual([[`transfer ${account_id}/4 removed`], [], []])
  const inserted = lines.toSpliced(at(4), 0, lines[at(4)] as string)
  expect((await check(inserted))[0]?.[0]).toMatch(`transfer ${account_id}/4 inserted`)
  await expect(check(lines.slice(0, -1))).rejects.toThrow('is incomplete')
})

test('the command prints what to publish, and names published digests that are gone or differ', async () => {
  const { out: shown } = await runAdminOn(shop, 'seal', 'show')
  expect(shown).toMatch(/^DIGEST +DAY +SEGMENTS +HASH\n/)
  const { out: latest } = await runAdminOn(shop, 'seal', 'publish')
  expect(latest).toMatch(/^\d+ \d{4}-\d\d-\d\d [0-9a-f]{64}\n$/)
  const [no = '', day = ''] = latest.split(' ')
  const [published, sealed] = [join(folder, 'digests.txt'), join(folder, 'for-published.jsonl')]
  await runAdminOn(shop, 'seal', 'export', '--file', sealed)
  const verify = () => runAdminOn(shop, 'verify', '--export', sealed, '--published', published)

  await writeFile(published, `# kept by the auditors\n\n${latest}`)
  expect(await verify()).toMatchObject({ code: 0, out: expect.stringContaining('All 3 rules hold.') })
  await writeFile(published, `${latest}999 2027-01-01 ${'0'.repeat(64)}\n${no} ${day} ${'1'.repeat(64)}\n`)
  const { code, out } = await verify()
  expect(code).toBe(6)
  expect(out).toContain('digest 999 of 2027-01-01 was published and is not there')
  expect(out).toContain(`digest ${no} of ${day} was published as 1111111111111111… and is another`)
  await writeFile(published, 'no digest')
  expect(await verify()).toMatchObject({ code: 2, err: expect.stringContaining('Line 1 of') })
})
