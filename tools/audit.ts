import { join } from 'node:path'
import { idOf, readLock, thirdParty } from '../packaging/locked-packages.ts'
import { ALLOWED, isSame, problemsOf } from './audit/allow-list.ts'
import { type Advisory, advisoriesFor, assertKnowsAdvisories, CouldNotAsk } from './audit/ask-npm.ts'

/**
 * Asks the registry for advisories about every locked package, also those that only build and test. Exits with 0 when there is none but those
 * in the allow list, with 1 when there is, or when the list is wrong, and with 2 when nobody could be asked.
 */
const ROOT = join(import.meta.dirname, '..')
const LOCKFILES = ['package-lock.json', '.ci/node/package-lock.json']

const locked = new Set(
  LOCKFILES.flatMap((file) => thirdParty(readLock(file)).map(([path, one]) => idOf(path, one))),
)
const names = new Set([...locked].map((id) => id.slice(0, id.lastIndexOf('@'))))
try {
  await assertKnowsAdvisories()
  const found = new Map<string, Advisory>()
  for (const file of LOCKFILES)
    for (const one of await advisoriesFor(join(ROOT, file, '..')))
      found.set(`${one.advisory} ${one.package}`, one)
  report([...found.values()])
} catch (error) {
  if (!(error instanceof CouldNotAsk)) throw error
  process.stderr.write(
    `audit: could not ask the registry for advisories: ${error.message}\n` +
      'Nothing is known about the locked packages. Run it again where the registry can be reached: npm config get registry says which one it is.\n',
  )
  process.exitCode = 2
}

function report(found: readonly Advisory[]): void {
  const notAllowed = found.filter((one) => !ALLOWED.some((entry) => isSame(entry, one)))
  const notNeeded = ALLOWED.filter((entry) => !found.some((one) => isSame(entry, one)))
  const problems = [
    ...notAllowed.map(
      (one) =>
        `${one.severity}: ${one.package} ${one.range}: ${one.title}\n  ${one.url}\n  Update it; if that is not possible yet, tools/audit/allow-list.ts takes it for a while, with a reason.`,
    ),
    ...notNeeded.map(
      (one) =>
        `${one.advisory} (${one.package}) is allowed, but nothing here is affected any more: remove the entry`,
    ),
    ...problemsOf(ALLOWED, names, Date.now()),
  ]
  for (const problem of problems) process.stdout.write(`${problem}\n`)
  process.stdout.write(
    `audit: ${locked.size} packages, ${found.length} advisories, ${found.length - notAllowed.length} of them allowed\n`,
  )
  if (problems.length > 0) process.exitCode = 1
}
