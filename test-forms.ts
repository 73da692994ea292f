/**
 * Two forms of the tests. The full form is every test file: `npm test` and `npm run e2e`, `SHOPWIRE_CI=full bash .ci/run`, CI every night
 * and before a release. The short form is what `bash .ci/run` does for every change, with twenty minutes on two cores as its aim: it sets
 * SHOPWIRE_E2E_SHORT=1, which leaves out the files listed here; some others then repeat less (they read the same variable).
 */
export const IS_SHORT = process.env.SHOPWIRE_E2E_SHORT === '1'

/** Left out of the short form: why it may be, and what still tests that kind there. tools/test/test-forms.test.ts checks the list. */
export const FULL_ONLY: Readonly<Record<string, string>> = {
  'cli/test/doctor.test.ts':
    'every fault that it can find; tests/callers/golive.test.ts is the same kind of check, and the service tests its own doctor',
  'emulator/test/database-image.test.ts':
    'the image that the emulator starts from; package.test.ts starts from it as users do',
  'emulator/test/operator.test.ts':
    "the operator's commands on the emulator; tests/operating/admin.test.ts runs them on a store",
  'emulator/test/process.test.ts':
    'how the program starts and stops; package.test.ts starts it from its package, and tests/documentation/five-minutes.test.ts by its page',
  'test-kit/test/postgres.test.ts': 'ways to start a server; every e2e test starts one and stops it',
  'test-kit/test/reaper.test.ts': 'kills programs that start engines; every e2e test ends its own',
  'test-kit/test/redis-cluster.test.ts':
    'tests/engines/redis-loss.test.ts and service/test/access start clusters and fail them over',
  'service/test/access/redis-secured.test.ts':
    'Redis with TLS and users in three arrangements; admission.test.ts tests what is stored there',
  'service/test/supply/schedules.test.ts':
    'random schedules of suppliers; fulfilment.test.ts has the ones that people thought of',
  'tests/backups/backups.test.ts': 'restores by pgBackRest; restores.test.ts restores a base backup',
  'tests/engines/clock-drill.test.ts':
    'clocks of workers and database a day and a year off; service/test/platform/clock-watch tests the rule',
  'tests/access/clock-skew.test.ts': 'the window of accepted times is tested in service/test/access',
  'tests/dashboard/dashboard-network.test.ts':
    'a browser whose network is cut, and a release under an open page; web/test has the rules they rest on',
  'tests/dashboard/dashboard-screens.test.ts':
    'every screen in every width; dashboard.test.ts visits them in its journeys',
  'tests/dashboard/dashboard-sign-in.test.ts':
    'rarer ways to sign in; dashboard.test.ts signs in by password and app and by passkey',
  'tests/engines/database-waits.test.ts':
    'waits for deadlines of 10 s; postgres-loss.test.ts kills the server',
  'tests/faults/faults.test.ts':
    'two minutes of random faults; the kills of orders/ and the losses of engines/ are the same faults one by one',
  'tests/installing/dev.test.ts':
    'makes the whole demo three times; five-minutes.test.ts is the page that newcomers follow',
  'tests/documentation/docs-portal.test.ts': 'builds the portal; docs.test.ts runs the code on its pages',
  'tests/contract/emulator-conformance.test.ts':
    'the kit on the emulator; conformance.test.ts runs it on the service, which the emulator is made of',
  'tests/callers/emulator-page.test.ts':
    "the emulator's page in a browser; dashboard.test.ts is in one too, and emulator/test tests what the page asks for",
  'tests/callers/examples.test.ts': 'sdk.test.ts buys with the same client',
  'tests/documentation/first-day.test.ts':
    'a page of commands; disputes.test.ts plays another one in the same console',
  'tests/access/forged-flood.test.ts':
    'a flood; overload.test.ts is another, and service/test/access/forged-requests a smaller one',
  'tests/callers/golive-ways.test.ts':
    '47 broken shops; golive.test.ts runs every scenario on one that works',
  'tests/operating/incidents.test.ts':
    'ten incidents of the runbooks; restores.test.ts and encryption-keys.test.ts do what two of them say',
  'tests/secrets/key-rotation.test.ts':
    'a new key under load; encryption-keys.test.ts re-encrypts, and the service tests how',
  'tests/operating/observability.test.ts':
    'waits for metrics to come and go; monitoring.test.ts scrapes them',
  'tests/contract/postman.test.ts':
    'installs newman, 66 MB, from the registry; contract/test/published.test.ts runs the script of the collection',
  'tests/load/proxies.test.ts':
    'real proxies in front; service/test/edge/framing and targets send such messages to the API itself',
  'tests/access/rate.test.ts':
    'waits for whole windows of 60 s; service/test/access/admission tests all three stores with a clock of its own',
  'tests/installing/rolling-upgrade.test.ts':
    'behind HAProxy, by script; rolling-migration.test.ts upgrades and rolls back under load',
  'tests/load/sockets.test.ts':
    'a thousand sockets; service/test/edge/slow-and-large and connections hold a few',
  'tests/operating/traces.test.ts': 'spans of real programs; service/test/platform tests how they are made',
  'tests/orders/worker.test.ts': 'waits for drains and leases; worker-kills.test.ts kills workers',
  'tests/webhooks/rig/misbehaving.test.ts':
    'receivers that hang until their deadlines; arrivals.test.ts has healthy ones',
  'tests/webhooks/rig/name-servers.test.ts': 'name servers that hang until their deadlines',
  'tests/webhooks/rig/observability.test.ts': 'waits for metrics to come and go',
}

/** Files of which the short form leaves out some tests, by `skipIf(IS_SHORT)`: why, and what still tests that kind there. */
export const FULL_ONLY_TESTS: Readonly<Record<string, string>> = {
  'tests/ci/ci-verdict.test.ts': 'more verdicts by the same program; a flaky test and a broken one stay',
  'tests/dashboard/dashboard.test.ts':
    'money, events and members; sign-in, a key and an order stay, and service/test/dashboard tests the others without a browser',
  'tests/callers/golive.test.ts':
    'shops that fail; every scenario on one that works stays, and cli/test/golive tests the reports',
  'tests/webhooks/listen.test.ts':
    'links, a restart, orders prove; forwarding and a revoked token stay, and service/test/dashboard/tokens tests the rest',
  'tests/engines/redis-loss.test.ts':
    'other ways to the same loss; a killed, a restored, a frozen and a failed-over Redis stay, and both engines killed together',
  'tests/backups/restores.test.ts': 'standbys and a dump; a base backup, which loses the most orders, stays',
}

/** Of every kind of test the short form keeps at least these. */
export const KEPT: Readonly<Record<string, string>> = {
  'the first commands of a visitor': 'tests/documentation/five-minutes.test.ts',
  'a package': 'emulator/test/package.test.ts',
  'a release': 'tests/installing/release.test.ts',
  'the image': 'tests/installing/image.test.ts',
  'an upgrade under load': 'tests/installing/rolling-migration.test.ts',
  'a restore': 'tests/backups/restores.test.ts',
  'PostgreSQL and the API killed': 'tests/orders/kill-points.test.ts',
  'PostgreSQL lost': 'tests/engines/postgres-loss.test.ts',
  'a worker killed': 'tests/orders/worker-kills.test.ts',
  'Redis lost': 'tests/engines/redis-loss.test.ts',
  'races for money': 'tests/orders/orders-races.test.ts',
  'a revoked key': 'tests/access/revoke.test.ts',
  'a flood': 'tests/load/overload.test.ts',
  'webhooks in a network of their own': 'tests/webhooks/webhooks.test.ts',
  'webhooks and killed workers': 'tests/webhooks/webhooks-untimed.test.ts',
  'a browser': 'tests/dashboard/dashboard.test.ts',
  'the whole interface': 'tests/contract/conformance.test.ts',
  'every invariant': 'tests/invariants/invariants.test.ts',
}

/** The patterns that a vitest project excludes in this form, named from its folder. */
export function excludedFrom(folder: string): string[] {
  if (!IS_SHORT) return []
  return Object.keys(FULL_ONLY)
    .filter((file) => file.startsWith(`${folder}/`))
    .map((file) => file.slice(folder.length + 1))
}
