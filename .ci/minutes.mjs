// Where the minutes went: the ten slowest test files, and how many systems and programs were started and how long they took.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readFileTimes } from './reports.mjs'

const FILES = 10

const folder = process.argv[2] ?? '.data/reports'
const files = readFileTimes(folder).toSorted((a, b) => b.seconds - a.seconds)
if (files.length > 0) say(`the slowest of ${files.length} test files:`)
for (const { file, seconds, tests } of files.slice(0, FILES)) {
  say(`  ${seconds.toFixed(0).padStart(4)} s  ${relative(process.cwd(), file)} (${tests} tests)`)
}
for (const [what, all] of Object.entries(Object.groupBy(readStarts(), ({ what }) => what))) {
  const seconds = all.reduce((sum, { ms }) => sum + ms, 0) / 1_000
  say(`  ${seconds.toFixed(0).padStart(4)} s  ${all.length} starts of ${what}`)
}

/** A line may be cut short when its process was killed. */
function readStarts() {
  const path = join(folder, 'starts.jsonl')
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
}

function say(text) {
  process.stdout.write(`${text}\n`)
}
