import { defineConfig } from 'vitest/config'

const SECOND = 1_000
/** What is waited for may take long on a busy machine; what never comes is told soon enough. */
const expectation = { poll: { timeout: 15 * SECOND } }

/** Contract, engines and sdk stand alone; the service's tests share one private PostgreSQL and Redis; proof and e2e run programs. */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'contract', root: 'contract', include: ['test/**/*.test.ts'] } },
      {
        test: {
          name: 'engines',
          root: 'engines',
          include: ['test/**/*.test.ts'],
          testTimeout: 60 * SECOND,
          expect: expectation,
        },
      },
      {
        test: {
          name: 'service',
          root: 'service',
          include: ['test/**/*.test.ts'],
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
      {
        test: {
          name: 'proof',
          expect: expectation,
          root: 'proof',
          include: ['test/**/*.test.ts'],
          testTimeout: 60 * SECOND,
        },
      },
      {
        // Started by e2e/webhooks.test.ts, in a network of its own.
        test: {
          name: 'rig',
          expect: expectation,
          root: 'e2e/rig',
          include: ['*.test.ts'],
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
          expect: expectation,
          root: 'e2e',
          include: ['*.test.ts'],
          testTimeout: 240 * SECOND,
          hookTimeout: 60 * SECOND,
          // Whole systems that mostly wait for leases, windows and restarts. More of them would only measure each other.
          maxWorkers: 2,
        },
      },
    ],
  },
})
