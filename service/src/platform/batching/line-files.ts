import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { explainRefused, giveToOwner, type OwnedFolder } from '../process/file-owner.ts'
import { Unavailable } from '../trouble.ts'
import { batched } from './batched.ts'

/**
 * Append-only files of text lines in one folder, for many processes at once: each process writes its own files, one per UTC day, so
 * no locks are needed. Every line begins with a checksum of the rest.
 */
export interface LineFiles {
  /** Resolves when the lines are on the disk; concurrent calls share one flush. Fails with Unavailable. */
  append(lines: readonly string[]): Promise<void>
  /** The same without waiting for the disk: a crash of the machine may lose the lines, a crash of the process does not. */
  note(lines: readonly string[]): Promise<void>
  /** Lines of that day and later, in chunks. */
  read(from: Date, onDamaged: (file: string) => void): AsyncIterable<string[]>
  /** Removes the files of earlier days; returns how many. */
  removeBefore(day: Date): Promise<number>
  close(): Promise<void>
}

export interface LineFilesOptions {
  readonly folder: OwnedFolder
  /** File names begin with it. */
  readonly kind: string
  nowMs(): number
}

const BATCH_MAX = 1_000
const LINE_CHARACTERS_MAX = 1_000
const READ_BYTES = 1 << 18
const MODE = 0o640
const DAY_MS = 86_400_000

export function openLineFiles({ folder, kind, nowMs }: LineFilesOptions): LineFiles {
  const { dir } = folder
  let current: { day: string; file: FileHandle } | undefined

  async function fileOf(day: string): Promise<FileHandle> {
    if (current?.day === day) return current.file
    await current?.file.close()
    current = undefined
    const path = join(dir, `${kind}.${day}.${newWriterName()}.log`)
    const file = await open(`${path}.new`, 'ax', MODE)
    current = { day, file }
    // Before the file gets its name, so that no reader opens a file whose permissions do not allow it yet.
    await giveToOwner(file, folder)
    await rename(`${path}.new`, path)
    await syncFolder(dir)
    return file
  }

  /** After a failure it is unknown which part of a file is on the disk, and a second flush may wrongly succeed: a new file is started. */
  async function abandonFile(): Promise<void> {
    const abandoned = current
    current = undefined
    await abandoned?.file.close().catch(() => {})
  }

  const write = batched<Batch, void>({
    part: 'journal',
    sizeMax: BATCH_MAX,
    async runMany(batches) {
      const text = batches.flatMap(({ lines }) => lines.map(sealLine)).join('')
      if (text === '') return batches.map(() => undefined)
      try {
        const file = await fileOf(dayOf(nowMs()))
        await file.appendFile(text)
        if (batches.some(({ isDurable }) => isDurable)) await file.datasync()
      } catch (error) {
        await abandonFile()
        throw new Unavailable('journal', await explainRefused(error, folder))
      }
      return batches.map(() => undefined)
    },
  })

  const note = (lines: readonly string[]) => write({ lines, isDurable: false })

  const namesFrom = async (day: string) =>
    (await readdir(dir)).filter((name) => dayIn(name, kind) >= day).sort()

  return {
    append: (lines) => write({ lines, isDurable: true }),
    note,
    async *read(from, onDamaged) {
      // The day before, too: a writer's clock may have been slow.
      for (const name of await namesFrom(dayOf(from.getTime() - DAY_MS))) {
        for await (const lines of readLines(join(dir, name), () => onDamaged(name))) yield lines
      }
    },
    async removeBefore(day) {
      const names = (await namesFrom('0')).filter((name) => dayIn(name, kind) < dayOf(day.getTime()))
      for (const name of names) await rm(join(dir, name), { force: true })
      return names.length
    },
    async close() {
      // Waits for writes in progress.
      await note([])
      await abandonFile()
    },
  }
}

interface Batch {
  readonly lines: readonly string[]
  readonly isDurable: boolean
}

/** Unique, and shows an operator who lists the folder which process wrote the file. */
export function newWriterName(): string {
  const host = hostname().replace(/[^A-Za-z0-9-]/g, '-')
  return `${host}-${process.pid}-${randomBytes(4).toString('hex')}`
}

/** Without this, a new file may be gone after a crash of the machine. */
export async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

export const sealLine = (line: string) => `${checksum(line)} ${line}\n`

/** Undefined when the line does not match its checksum. */
export function openLine(sealed: string): string | undefined {
  const line = sealed.slice(9)
  return sealed[8] === ' ' && sealed.slice(0, 8) === checksum(line) ? line : undefined
}

const checksum = (line: string) => crc32(line).toString(16).padStart(8, '0')

/**
 * The last line of a file may be incomplete: the process that wrote it ended before it reported the line as written. Any other line
 * that does not match its checksum is damage.
 */
async function* readLines(path: string, onDamaged: () => void): AsyncIterable<string[]> {
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: READ_BYTES })) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    const lines: string[] = []
    for (const part of parts) {
      const line = openLine(part)
      if (line === undefined) onDamaged()
      else lines.push(line)
    }
    if (rest.length > LINE_CHARACTERS_MAX) {
      onDamaged()
      rest = ''
    }
    yield lines
  }
  const last = openLine(rest)
  if (last !== undefined) yield [last]
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** Empty for a file of another kind. */
function dayIn(name: string, kind: string): string {
  const [found, day = '', ...more] = name.split('.')
  return found === kind && more.at(-1) === 'log' ? day : ''
}
