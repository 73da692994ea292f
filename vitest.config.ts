import { basename } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { excludedFrom } from './test-forms.ts'

const SECOND = 1_000
/**
 * Of e2e: no clock decides in these, or its bounds leave room for a neighbour, so three of them run side by side, because much of it is waiting. Those that start dozens of
 * processes are not among them: beside them a neighbour may wait for seconds, and two of them are not faster than one after the other.
 */
const UNHURRIED = [
  'admin',
  'backups',
  'ci-verdict',
  'conformance',
  'crash',
  'dashboard',
  'dashboard-screens',
  'dashboard-sign-in',
  'disk-full',
  'disputes',
  'docs',
  'docs-portal',
  'documented',
  'emulator-conformance',
  'emulator-page',
  'encryption-keys',
  'examples',
  'first-day',
  'five-minutes',
  'golive',
  'golive-ways',
  'image',
  'incidents',
  'lifecycle',
  'listen',
  'monitoring',
  'observability',
  'pool-load',
  'postman',
  'proxies',
  'rate',
  'release',
  'replay',
  'restores',
  'revoke',
  'revoke-crash',
  'schema',
  'sdk',
  'secrets',
  'traces',
  'webhooks-untimed',
  'worker',
].map((name) => `${name}.test.ts`)
/** Of those the longest, from the longest on. One that began last would run on alone when all others have ended, with an idle core beside it. */
const LONGEST = [
  'conformance',
  'five-minutes',
  'webhooks-untimed',
  'restores',
  'dashboard',
  'admin',
  'secrets',
  'encryption-keys',
  'first-day',
  'proxies',
].map((name) => `${name}.test.ts`)
/** Otherwise as vitest does it: by how long each took the last time, which a fresh clone does not know. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = project.name === 'e2e-unhurried' ? LONGEST.indexOf(basename(moduleId)) : -1
      return place < 0 ? LONGEST.length : place
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
/** Bundles the service's programs, of which these tests start about a thousand. */
const globalSetup = [new URL('./e2e/global-setup.ts', import.meta.url).pathname]
/** A condition may take long on a busy machine; one that never becomes true still fails well before the test times out. */
const expectation = { poll: { timeout: 15 * SECOND } }

/** Contract, engines and sdk stand alone; the service's tests share one private PostgreSQL and Redis; proof and e2e run programs. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      // Pure functions: its files need not be kept apart, and share what they load.
      { test: { name: 'contract', root: 'contract', include: ['test/**/*.test.ts'], isolate: false } },
      {
        test: {
          name: 'engines',
          root: 'engines',
          include: ['test/**/*.test.ts'],
          exclude: excludedFrom('engines'),
          testTimeout: 60 * SECOND,
          expect: expectation,
        },
      },
      {
        test: {
          name: 'service',
          root: 'service',
          include: ['test/**/*.test.ts'],
          exclude: excludedFrom('service'),
          // The sources keep no state in modules and each file has a database of its own, so the files of a worker share what they load:
          // loading it for each of them took a third of the CPU time.
          isolate: false,
          expect: expectation,
          globalSetup: [new URL('./service/testing/global-setup.ts', import.meta.url).pathname],
          testTimeout: 30 * SECOND,
          hookTimeout: 30 * SECOND,
        },
      },
      {
        test: {
          name: 'sdk',
          root: 'sdk',
          include: ['test/**/*.test.ts'],
          testTimeout: 30 * SECOND,
          hookTimeout: 60 * SECOND,
          expect: expectation,
        },
      },
      ...['cli', 'emulator'].map((name) => ({
        test: {
          name,
          root: name,
          include: ['test/**/*.test.ts'],
          exclude: excludedFrom(name),
          // Most of its tests are other processes or requests to one emulator, so its files share what they load.
          isolate: false,
          // The command line is tested as it is published.
          globalSetup:
            name === 'cli' ? [new URL('./cli/test/global-setup.ts', import.meta.url).pathname] : [],
          // The emulator keeps an empty database there.
          env: { XDG_CACHE_HOME: new URL('./.data/caches', import.meta.url).pathname },
          testTimeout: 60 * SECOND,
          hookTimeout: 60 * SECOND,
          expect: expectation,
        },
      })),
      {
        test: {
          name: 'proof',
          expect: expectation,
          root: 'proof',
          include: ['test/**/*.test.ts'],
          isolate: false,
          testTimeout: 60 * SECOND,
        },
      },
      { test: { name: 'web', root: 'web', include: ['test/**/*.test.ts'], testTimeout: 60 * SECOND } },
      {
        // Started by e2e/webhooks.test.ts and webhooks-untimed.test.ts, in a network of its own.
        test: {
          name: 'rig',
          expect: expectation,
          root: 'e2e/rig',
          include: ['*.test.ts'],
          exclude: excludedFrom('e2e/rig'),
          globalSetup,
          testTimeout: 120 * SECOND,
          hookTimeout: 180 * SECOND,
          // One file after the other in one process, in which they share one system.
          fileParallelism: false,
          isolate: false,
        },
      },
      {
        test: {
          name: 'e2e',
          root: 'e2e',
          include: ['*.test.ts'],
          exclude: [...UNHURRIED, ...excludedFrom('e2e')],
          globalSetup,
          expect: expectation,
          testTimeout: 240 * SECOND,
          hookTimeout: 60 * SECOND,
          // Whole systems on two cores, against the clock: side by side they would only measure each other.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e-unhurried',
          root: 'e2e',
          include: UNHURRIED,
          exclude: excludedFrom('e2e'),
          globalSetup,
          expect: expectation,
          testTimeout: 240 * SECOND,
          hookTimeout: 60 * SECOND,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
