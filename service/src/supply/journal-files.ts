import { link, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  newWriterName,
  openLine,
  openLineFiles,
  sealLine,
  syncFolder,
} from '../platform/batching/line-files.ts'
import { newestOf, type StorePosition } from '../platform/database/store-position.ts'
import { explainRefused, giveToOwner } from '../platform/process/file-owner.ts'
import { Unavailable } from '../platform/trouble.ts'
import { type Journal, type JournalEntry, type JournalMark, readEntry, writeEntry } from './journal.ts'

const MARK = 'journal.json'
const KEPT_SINCE = 'kept-since.json'
const POSITION = /^position\.[^.]+\.json$/
const MODE = 0o640

/**
 * The journal in a folder that all workers of a store, and its operator's command, share: on one machine, or on network storage
 * that keeps what was flushed. Every process writes its own files.
 */
export function openJournalFolder(
  dir: string,
  { nowMs, onError }: { nowMs(): number; onError(error: unknown): void },
): Journal {
  const folder = { dir, mark: join(dir, MARK) }
  const files = openLineFiles({ folder, kind: 'sold', nowMs })
  const writer = newWriterName()

  async function readMark(): Promise<JournalMark | undefined> {
    const text = await readIfThere(join(dir, MARK))
    if (text === undefined) {
      // Fails when there is no folder at all, which is not the same as an empty one.
      await readdir(dir)
      return undefined
    }
    const mark = parseSealed<Stored<JournalMark>>(text) ?? damaged(dir, MARK)
    const removed = await readIfThere(join(dir, KEPT_SINCE))
    const { kept_since } =
      removed === undefined ? mark : (parseSealed<Kept>(removed) ?? damaged(dir, KEPT_SINCE))
    return { journal_id: mark.journal_id, kept_since: new Date(kept_since), key_check: mark.key_check }
  }

  async function writeDurably(path: string, value: object): Promise<void> {
    const file = await open(path, 'w', MODE)
    try {
      await giveToOwner(file, folder)
      await file.writeFile(sealLine(JSON.stringify(value)))
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  const unavailable = async (error: unknown) =>
    error instanceof Unavailable ? error : new Unavailable('journal', await explainRefused(error, folder))

  async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw await unavailable(error)
    }
  }

  return {
    readMark: () => orUnavailable(readMark),
    begin: (mark) =>
      orUnavailable(async () => {
        const path = join(dir, `${MARK}.${writer}`)
        await writeDurably(path, mark)
        // Unlike a renamed file, a link fails when another process was first.
        await link(path, join(dir, MARK)).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        })
        await rm(path)
        await syncFolder(dir)
        return (await readMark()) as JournalMark
      }),
    append: (links) => files.append(links.map((sold) => writeEntry({ kind: 'sold', ...sold }))),
    acknowledge: (order) => void files.note([writeEntry({ kind: 'delivered', ...order })]).catch(onError),
    async *read(from, onDamaged) {
      try {
        for await (const lines of files.read(from, onDamaged)) {
          const entries: JournalEntry[] = []
          for (const line of lines) {
            const entry = readEntry(line)
            if (entry === undefined) onDamaged('an entry of another release')
            else if (entry.at >= from) entries.push(entry)
          }
          yield entries
        }
      } catch (error) {
        throw await unavailable(error)
      }
    },
    readPosition: () =>
      orUnavailable(async () => {
        const names = (await readdir(dir)).filter((name) => POSITION.test(name))
        const texts = await Promise.all(names.map((name) => readIfThere(join(dir, name))))
        return newestOf(texts.flatMap((text) => (text === undefined ? [] : parsePosition(text))))
      }),
    writePosition: (position) =>
      orUnavailable(async () => {
        const path = join(dir, `position.${writer}.json`)
        await writeDurably(`${path}.new`, position)
        await rename(`${path}.new`, path)
      }),
    removeBefore: (day) =>
      orUnavailable(async () => {
        const mark = await readMark()
        if (mark === undefined || mark.kept_since >= day) return
        // First, so that a comparison does not mistake a removed file for a time in which nothing was sold.
        const path = join(dir, `${KEPT_SINCE}.${writer}`)
        await writeDurably(path, { kept_since: day })
        await rename(path, join(dir, KEPT_SINCE))
        await files.removeBefore(day)
        await removeOldPositions(dir, day)
      }),
    close: () => files.close(),
  }
}

/** As JSON has it: times are texts. */
type Stored<Value> = { readonly [Name in keyof Value]: Value[Name] extends Date ? string : Value[Name] }

type Kept = Stored<Pick<JournalMark, 'kept_since'>>

function parseSealed<Value>(text: string): Value | undefined {
  const line = openLine(text.trimEnd())
  return line === undefined ? undefined : (JSON.parse(line) as Value)
}

/** Nothing for a damaged file: every other process has written its own. */
function parsePosition(text: string): StorePosition[] {
  const stored = parseSealed<Stored<StorePosition>>(text)
  if (stored === undefined) return []
  return [{ ...stored, at: new Date(stored.at) }]
}

/** Files of processes that ended long ago. The furthest position stays, however old it is. */
async function removeOldPositions(dir: string, day: Date): Promise<void> {
  const found: { path: string; positions: StorePosition[]; isOld: boolean }[] = []
  for (const name of (await readdir(dir)).filter((one) => POSITION.test(one))) {
    const path = join(dir, name)
    const [text, about] = await Promise.all([readIfThere(path), stat(path).catch(() => undefined)])
    const positions = parsePosition(text ?? '')
    found.push({ path, positions, isOld: about !== undefined && about.mtime < day })
  }
  const newest = newestOf(found.flatMap(({ positions }) => positions))
  for (const { path, positions, isOld } of found)
    if (isOld && positions[0] !== newest) await rm(path, { force: true })
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function damaged(dir: string, name: string): never {
  throw new Error(`${join(dir, name)} is damaged: it does not fit its checksum`)
}
