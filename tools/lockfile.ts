import { readLock } from '../packaging/locked-packages.ts'
import { problemsOf } from './lockfile/problems.ts'

/** Fails when a clone on another platform, or with another registry, would not get the packages that were locked. */
for (const file of ['package-lock.json', '.ci/node/package-lock.json']) {
  for (const problem of problemsOf(readLock(file))) {
    process.stdout.write(`${file}: ${problem}\n`)
    process.exitCode = 1
  }
}
