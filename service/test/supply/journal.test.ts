import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Unavailable } from '../../src/platform/trouble.ts'
import type { Journal, JournalEntry, SoldLink } from '../../src/supply/journal.ts'
import { openJournalFolder } from '../../src/supply/journal-files.ts'
import { asUser, IS_ROOT, NOBODY } from '../../testing/user.ts'

const DAY_MS = 86_400_000
let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shopwire-journal-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const errors: unknown[] = []
const openJournal = () => openJournalFolder(dir, { nowMs: Date.now, onError: (error) => errors.push(error) })
const sold = (n: number, at = new Date()): SoldLink => ({
  at,
  account_id: 'acct_1',
  order_id: `ord_${n}`,
  line: 1,
  unit: 2,
  item_id: '10000000000000001',
  source: 'pool',
  hash: createHash('sha256').update(String(n)).digest(),
})
const mark = (journal_id: string) => ({ journal_id, kept_since: new Date(), key_check: 'aa' })

async function readAll(journal: Journal, from: Date): Promise<JournalEntry[]> {
  const all: JournalEntry[] = []
  for await (const entries of journal.read(from, () => expect.fail('nothing is damaged')))
    all.push(...entries)
  return all
}

test('reads every link and every acknowledgement from a time on, whichever process wrote it', async () => {
  const [one, two] = [openJournal(), openJournal()]
  const [early, late] = [new Date(Date.now() - 60_000), new Date()]
  await one.append([sold(1, early), sold(2, late)])
  await two.append([sold(3, late)])
  two.acknowledge({ at: late, account_id: 'acct_1', order_id: 'ord_3' })
  // Written in the order of the calls, so the acknowledgement is there when this is.
  await two.append([sold(4, late)])
  const entries = await readAll(one, late)
  expect(entries.map(({ kind, order_id }) => `${kind} ${order_id}`).sort()).toEqual([
    'delivered ord_3',
    'sold ord_2',
    'sold ord_3',
    'sold ord_4',
  ])
  expect(entries.find(({ order_id }) => order_id === 'ord_2')).toEqual({ kind: 'sold', ...sold(2, late) })
  await Promise.all([one.close(), two.close()])
})

test('two processes begin a journal at once: both get the mark of the first', async () => {
  const [one, two] = [openJournal(), openJournal()]
  expect(await one.readMark()).toBeUndefined()
  const [a, b] = await Promise.all([one.begin(mark('jrn_a')), two.begin(mark('jrn_b'))])
  expect(a).toEqual(b)
  expect(await two.readMark()).toEqual(a)
  expect((await readdir(dir)).sort()).toEqual(['journal.json'])
})

test('the position is the furthest of all processes: by generation first', async () => {
  const [one, two, three] = [openJournal(), openJournal(), openJournal()]
  expect(await one.readPosition()).toBeUndefined()
  const at = new Date()
  await one.writePosition({ generation: 1, position: 900, at, is_synchronous: false })
  await two.writePosition({ generation: 2, position: 10, at, is_synchronous: true })
  await three.writePosition({ generation: 2, position: 9, at, is_synchronous: false })
  expect(await one.readPosition()).toEqual({ generation: 2, position: 10, at, is_synchronous: true })
  const [damaged = ''] = (await readdir(dir)).filter((name) => name.startsWith('position.'))
  await writeFile(join(dir, damaged), 'noise')
  expect((await one.readPosition())?.generation).toBe(2)
})

test('what is older than the retention time is removed, and the journal says since when it is kept', async () => {
  const journal = openJournal()
  const begun = await journal.begin({ ...mark('jrn_a'), kept_since: new Date(Date.now() - 50 * DAY_MS) })
  await journal.writePosition({ generation: 1, position: 1, at: new Date(), is_synchronous: false })
  await openJournal().writePosition({ generation: 1, position: 2, at: new Date(), is_synchronous: false })
  const long = new Date(Date.now() - 40 * DAY_MS)
  for (const name of await readdir(dir)) await utimes(join(dir, name), long, long)
  const old = `sold.${long.toISOString().slice(0, 10)}.host-1-00000000.log`
  await writeFile(join(dir, old), '')
  await journal.append([sold(1)])
  const before = new Date(Date.now() - 35 * DAY_MS)
  await journal.removeBefore(before)
  const names = await readdir(dir)
  expect(names).not.toContain(old)
  // The furthest position stays, however old it is.
  expect(names.filter((name) => name.startsWith('position.'))).toHaveLength(1)
  expect(await journal.readPosition()).toMatchObject({ position: 2 })
  expect(await journal.readMark()).toEqual({ ...begun, kept_since: before })
  expect(await readAll(journal, new Date(0))).toHaveLength(1)
  await journal.close()
})

test('what was acknowledged just before the journal is closed is written', async () => {
  const journal = openJournal()
  journal.acknowledge({ at: new Date(), account_id: 'acct_1', order_id: 'ord_1' })
  await journal.close()
  expect(await readAll(openJournal(), new Date(0))).toMatchObject([{ kind: 'delivered', order_id: 'ord_1' }])
})

test('files have fingerprints and ids only, and are not readable by everybody', async () => {
  const journal = openJournal()
  await journal.begin(mark('jrn_a'))
  await journal.append([sold(1)])
  const [name = ''] = (await readdir(dir)).filter((one) => one.startsWith('sold.'))
  expect(await readFile(join(dir, name), 'utf8')).toMatch(
    /^[0-9a-f]{8} sold \S+Z acct_1 ord_1 1 2 10000000000000001 pool [0-9a-f]{64}\n$/,
  )
  const { mode } = await (await import('node:fs/promises')).stat(join(dir, name))
  expect(mode & 0o007).toBe(0)
  await journal.close()
})

test('fails with Unavailable without its folder, and an acknowledgement reports the error and does not throw', async () => {
  const journal = openJournal()
  await rm(dir, { recursive: true })
  await expect(journal.append([sold(1)])).rejects.toThrow(Unavailable)
  await expect(journal.readMark()).rejects.toThrow(Unavailable)
  await expect(journal.readPosition()).rejects.toThrow(Unavailable)
  journal.acknowledge({ at: new Date(), account_id: 'acct_1', order_id: 'ord_1' })
  await expect.poll(() => errors.length).toBe(1)
})

test('an id with a line break in it is refused instead of written', async () => {
  const journal = openJournal()
  expect(() => journal.append([{ ...sold(1), order_id: `ord\n${randomBytes(2).toString('hex')}` }])).toThrow(
    'line break',
  )
})

test.runIf(IS_ROOT)('what root writes belongs to the owner of the folder, who reads it', async () => {
  await chown(dir, NOBODY, NOBODY)
  const root = openJournal()
  const begun = await root.begin(mark('jrn_a'))
  await root.append([sold(1)])
  await root.writePosition({ generation: 1, position: 1, at: new Date(), is_synchronous: false })
  await root.removeBefore(new Date(Date.now() + 1_000))
  await root.close()
  const names = await readdir(dir)
  expect(names).toHaveLength(4)
  for (const name of names) expect(await stat(join(dir, name))).toMatchObject({ uid: NOBODY, gid: NOBODY })
  await asUser(NOBODY, async () => {
    expect((await openJournal().readMark())?.journal_id).toBe(begun.journal_id)
    expect(await readAll(openJournal(), new Date(0))).toHaveLength(1)
  })
})

test.runIf(IS_ROOT)('a user who is not the owner is refused and leaves nothing behind', async () => {
  await openJournal().begin(mark('jrn_a'))
  // As a folder that a group may write, without making one.
  await chmod(dir, 0o777)
  await asUser(NOBODY, async () => {
    await expect(openJournal().append([sold(1)])).rejects.toMatchObject({
      reason: expect.stringContaining(
        `belongs to user 0 and group 0, and this process runs as user ${NOBODY}`,
      ),
    })
  })
  expect((await readdir(dir)).filter((name) => name.endsWith('.log'))).toEqual([])
})

test.runIf(IS_ROOT)(
  'a file that the owner may not read: the error names it, whose it is and what to do',
  async () => {
    await chown(dir, NOBODY, NOBODY)
    await openJournal().begin(mark('jrn_a'))
    const name = `sold.${new Date().toISOString().slice(0, 10)}.host-1-00000000.log`
    await writeFile(join(dir, name), '', { mode: 0o640 })
    await asUser(NOBODY, async () => {
      await expect(readAll(openJournal(), new Date())).rejects.toMatchObject({
        part: 'journal',
        reason:
          `${join(dir, name)} belongs to user 0 and group 0, and this process runs as user ${NOBODY}. ` +
          `As root: chown -R ${NOBODY}:${NOBODY} ${dir}`,
      })
    })
  },
)
