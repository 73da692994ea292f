import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { excludedFrom } from './test-forms.ts'

const SECOND = 1_000
/**
 * Of tests/: no clock decides in these, or its bounds leave room for a neighbour, so three of them run side by side, because much of it is waiting. Those that start dozens of
 * processes are not among them: beside them a neighbour may wait for seconds, and two of them are not faster than one after the other.
 */
const UNHURRIED = [
  'access/rate',
  'access/replay',
  'access/revoke',
  'access/revoke-crash',
  'backups/backups',
  'backups/restores',
  'callers/emulator-page',
  'callers/examples',
  'callers/golive',
  'callers/golive-ways',
  'callers/sdk',
  'ci/ci-verdict',
  'contract/conformance',
  'contract/documented',
  'contract/emulator-conformance',
  'contract/postman',
  'dashboard/dashboard',
  'dashboard/dashboard-screens',
  'dashboard/dashboard-sign-in',
  'documentation/docs',
  'documentation/docs-portal',
  'documentation/first-day',
  'documentation/five-minutes',
  'engines/disk-full',
  'installing/crash',
  'installing/image',
  'installing/lifecycle',
  'installing/release',
  'installing/schema',
  'load/proxies',
  'operating/admin',
  'operating/incidents',
  'operating/monitoring',
  'operating/observability',
  'operating/status-page',
  'operating/traces',
  'orders/disputes',
  'orders/pool-load',
  'orders/worker',
  'secrets/encryption-keys',
  'secrets/secrets',
  'webhooks/listen',
  'webhooks/webhooks-untimed',
].map((name) => `${name}.test.ts`)
/** Of those the longest, from the longest on. One that began last would run on alone when all others have ended, with an idle core beside it. */
const LONGEST = [
  'contract/conformance',
  'documentation/five-minutes',
  'webhooks/webhooks-untimed',
  'backups/restores',
  'dashboard/dashboard',
  'operating/admin',
  'secrets/secrets',
  'secrets/encryption-keys',
  'documentation/first-day',
  'load/proxies',
].map((name) => `${name}.test.ts`)
/** Otherwise as vitest does it: by how long each took the last time, which a fresh clone does not know. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const isHere = (name: string) => moduleId.endsWith(`/tests/${name}`)
      const place = project.name === 'tests-unhurried' ? LONGEST.findIndex(isHere) : -1
      return place < 0 ? LONGEST.length : place
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
/** Bundles the service's programs, of which these tests start about a thousand. */
const globalSetup = [new URL('./tests/global-setup.ts', import.meta.url).pathname]
/** A condition may take long on a busy machine; one that never becomes true still fails well before the test times out. */
const expectation = { poll: { timeout: 15 * SECOND } }

/** Those of a folder are its project. The service's tests share one private PostgreSQL and Redis; those in tests/ run programs. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      // Pure functions: its files need not be kept apart, and share what they load.
      { test: { name: 'contract', root: 'contract', include: ['test/**/*.test.ts'], isolate: false } },
      {
        test: {
          name: 'test-kit',
          root: 'test-kit',
          include: ['test/**/*.test.ts'],
          exclude: excludedFrom('test-kit'),
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
      ...['bench', 'conformance', 'deploy', 'docs', 'tools'].map((name) => ({
        test: {
          name,
          root: name,
          include: ['test/**/*.test.ts'],
          isolate: false,
          testTimeout: 60 * SECOND,
          expect: expectation,
        },
      })),
      {
        test: {
          name: 'invariants',
          root: 'tests/invariants',
          include: ['*.test.ts'],
          isolate: false,
          testTimeout: 60 * SECOND,
          expect: expectation,
        },
      },
      { test: { name: 'web', root: 'web', include: ['test/**/*.test.ts'], testTimeout: 60 * SECOND } },
      {
        // Started by webhooks.test.ts and webhooks-untimed.test.ts, in a network of its own.
        test: {
          name: 'rig',
          expect: expectation,
          root: 'tests/webhooks/rig',
          include: ['*.test.ts'],
          exclude: excludedFrom('tests/webhooks/rig'),
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
          name: 'tests',
          root: 'tests',
          include: ['*/*.test.ts'],
          exclude: ['invariants/*', ...UNHURRIED, ...excludedFrom('tests')],
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
          name: 'tests-unhurried',
          root: 'tests',
          include: UNHURRIED,
          exclude: excludedFrom('tests'),
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
