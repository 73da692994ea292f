import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endWithParent } from '@shopwire/test-kit/servers'

const WEB = fileURLToPath(new URL('../../web/', import.meta.url))
const BUILT = join(WEB, 'dist/dashboard/index.html')
/** What the pages are made from, besides their packages. */
const SOURCES = [
  'web/apps',
  'web/client',
  'web/kit',
  'web/lib',
  'web/package.json',
  'look',
  'contract/src/dashboard',
]

/**
 * Builds the dashboard's pages when they are missing or older than their sources, and says what it did. Pages that break a rule of the
 * build, such as their size, can be used all the same.
 */
export async function buildWeb(): Promise<string> {
  if (await isUpToDate()) return 'its pages are up to date'
  const build = spawn('npm', ['run', '--silent', '-w', 'web', 'build'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  void endWithParent(build, 'SIGTERM')
  const printed: Buffer[] = []
  for (const stream of [build.stdout, build.stderr]) stream.on('data', (chunk) => printed.push(chunk))
  const [code] = await once(build, 'close')
  if (code === 0) return 'its pages were built'
  const text = Buffer.concat(printed).toString('utf8')
  if (!(await isUpToDate())) throw new Error(`The dashboard's pages cannot be built:\n${text}`)
  return `its pages were built, with a problem that "npm run -w web build" shows: ${/^Error: (.*)$/m.exec(text)?.[1] ?? ''}`
}

async function isUpToDate(): Promise<boolean> {
  return existsSync(BUILT) && (await stat(BUILT)).mtimeMs >= (await newestSource())
}

async function newestSource(): Promise<number> {
  const files = await Promise.all(
    SOURCES.map(async (name) => {
      const path = join(WEB, '..', name)
      const { mtimeMs } = await stat(path)
      if (!(await stat(path)).isDirectory()) return [mtimeMs]
      const inside = await readdir(path, { recursive: true, withFileTypes: true })
      const ofFiles = inside.filter((entry) => entry.isFile())
      return Promise.all(
        ofFiles.map(async ({ parentPath, name: file }) => (await stat(join(parentPath, file))).mtimeMs),
      )
    }),
  )
  return Math.max(...files.flat())
}
