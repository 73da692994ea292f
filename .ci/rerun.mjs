// Runs every test file that failed once more, alone, so that totals.mjs can tell a flaky test from a broken one.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readReports, rerunFolder } from './reports.mjs'

/** More failed files than this are certainly not flaky; running them again would only cost time. */
const FILES_MAX = 8
const FILE_MS_MAX = 600_000

const folder = process.argv[2] ?? '.data/reports'
const into = rerunFolder(folder)
const files = [...new Set(readReports(folder).failures.flatMap(({ file }) => file ?? []))]
rmSync(into, { recursive: true, force: true })

if (files.length > FILES_MAX) {
  process.stdout.write(`${files.length} test files failed: too many to be flaky, none is run again\n`)
} else if (files.length > 0) {
  mkdirSync(into, { recursive: true })
  for (const [n, file] of files.entries()) runAlone(file, join(into, String(n)))
}

function runAlone(file, path) {
  process.stdout.write(`running again, alone: ${file}\n`)
  const args = ['vitest', 'run', file, '--maxWorkers=1', '--reporter=default', '--reporter=json']
  const { stdout, stderr } = spawnSync('npx', [...args, `--outputFile.json=${path}.json`], {
    encoding: 'utf8',
    timeout: FILE_MS_MAX,
    maxBuffer: 64 * 1024 * 1024,
  })
  writeFileSync(`${path}.log`, `${file}\n${stdout}${stderr}`)
}
