import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type LineFiles, openLineFiles } from '../../../src/platform/batching/line-files.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'

const DAY_MS = 86_400_000
const START = new Date('2026-11-16T12:00:00Z')

let dir: string
let nowMs: number
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shopwire-lines-'))
  nowMs = START.getTime()
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const openFiles = () => openLineFiles({ folder: { dir, mark: dir }, kind: 'sold', nowMs: () => nowMs })

async function readAll(files: LineFiles, from = START): Promise<{ lines: string[]; damaged: string[] }> {
  const lines: string[] = []
  const damaged: string[] = []
  for await (const some of files.read(from, (file) => damaged.push(file))) lines.push(...some)
  return { lines, damaged }
}

test('reads what was appended, by several writers in one folder', async () => {
  const [one, two] = [openFiles(), openFiles()]
  await Promise.all([
    ...Array.from({ length: 200 }, (_, n) => one.append([`one ${n}`])),
    ...Array.from({ length: 200 }, (_, n) => two.append([`two ${n}`, `more ${n}`])),
  ])
  const { lines, damaged } = await readAll(one)
  expect([lines.length, new Set(lines).size, damaged]).toEqual([600, 600, []])
  expect(await readdir(dir)).toHaveLength(2)
  await Promise.all([one.close(), two.close()])
})

test('the last line of a file is ignored when it is half written', async () => {
  const files = openFiles()
  await files.append(['first', 'second'])
  await files.close()
  const [name = ''] = await readdir(dir)
  const whole = await readFile(join(dir, name), 'utf8')
  await writeFile(join(dir, name), whole.slice(0, -4))
  expect(await readAll(files)).toEqual({ lines: ['first'], damaged: [] })
})

test('a process that starts again does not append to a half written line', async () => {
  const before = openFiles()
  await before.append(['first'])
  await before.close()
  const [name = ''] = await readdir(dir)
  await appendFile(join(dir, name), '01234567 half')
  const after = openFiles()
  await after.append(['second'])
  expect((await readAll(after)).lines.sort()).toEqual(['first', 'second'])
  await after.close()
})

test('a damaged line in the middle is reported with its file, and the others are read', async () => {
  const files = openFiles()
  await files.append(['first', 'second', 'third'])
  await files.close()
  const [name = ''] = await readdir(dir)
  const whole = await readFile(join(dir, name), 'utf8')
  await writeFile(join(dir, name), whole.replace('second', 'secont'))
  expect(await readAll(files)).toEqual({ lines: ['first', 'third'], damaged: [name] })
})

test('a file that ends in noise without line breaks is reported and does not fill the memory', async () => {
  const files = openFiles()
  await files.append(['first'])
  await files.close()
  const [name = ''] = await readdir(dir)
  await appendFile(join(dir, name), 'x'.repeat(1_000_000))
  const { lines, damaged } = await readAll(files)
  expect([lines, damaged.length > 0]).toEqual([['first'], true])
})

test('begins a new file each UTC day, reads from a day on, and removes older days', async () => {
  const files = openFiles()
  for (const text of ['monday', 'tuesday', 'wednesday', 'thursday']) {
    await files.append([text])
    nowMs += DAY_MS
  }
  expect(await readdir(dir)).toHaveLength(4)
  const wednesday = new Date(START.getTime() + 2 * DAY_MS)
  // The day before, too: clocks differ.
  expect((await readAll(files, wednesday)).lines).toEqual(['tuesday', 'wednesday', 'thursday'])
  expect(await files.removeBefore(wednesday)).toBe(2)
  expect((await readAll(files)).lines).toEqual(['wednesday', 'thursday'])
  await files.close()
})

test('fails with Unavailable when the folder is gone, and writes a new file when it is back', async () => {
  const files = openFiles()
  await rm(dir, { recursive: true })
  await expect(Promise.all([files.append(['lost']), files.append(['lost too'])])).rejects.toThrow(Unavailable)
  const { mkdir } = await import('node:fs/promises')
  await mkdir(dir)
  await files.append(['found'])
  expect((await readAll(files)).lines).toEqual(['found'])
  await files.close()
})

test('a process killed while it appends: every line whose append it reported is read, none is damaged', async () => {
  const child = fork(fileURLToPath(new URL('./line-writer.ts', import.meta.url)), [dir])
  const reported: string[] = []
  child.on('message', (line: string) => {
    reported.push(line)
    if (reported.length === 50) child.kill('SIGKILL')
  })
  await once(child, 'close')
  nowMs = Date.now()
  const { lines, damaged } = await readAll(openFiles(), new Date())
  expect(reported.length).toBeGreaterThanOrEqual(50)
  expect(damaged).toEqual([])
  expect(reported.filter((line) => !lines.includes(line))).toEqual([])
})
