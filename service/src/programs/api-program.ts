import type { AddressInfo } from 'node:net'
import { followAccessChanges } from '../access/access-changes.ts'
import type { Admission } from '../access/admission.ts'
import { ADMISSION_SEEN_EVERY_MS, noteAdmissionInUse } from '../access/admission-in-use.ts'
import { createKeyUsage } from '../access/key-usage.ts'
import { createKnownKeys } from '../access/known-keys.ts'
import { liveCatalogue } from '../catalogue/live-catalogue.ts'
import type { Config } from '../config/config.ts'
import { addressReader } from '../edge/connections.ts'
import { allEndpoints, type EndpointDeps } from '../edge/endpoints/index.ts'
import { docsPortal } from '../edge/public/docs-portal.ts'
import { publicFamily } from '../edge/public/public-family.ts'
import { ownFiles } from '../edge/public/public-files.ts'
import { createEdge, type ServeRequest } from '../edge/server.ts'
import { type SignedFamilyDeps, signedFamily } from '../edge/signed/signed-family.ts'
import { rememberAcknowledged } from '../orders/journal/acknowledged-orders.ts'
import { createEvidenceWriter } from '../orders/placing/evidence.ts'
import { placeInBatches } from '../orders/placing/order-batches.ts'
import { createLoadShedding, watchLoopLag } from '../platform/batching/load-shedding.ts'
import { systemClock } from '../platform/clock.ts'
import { watchDatabaseIdentity } from '../platform/database/database-identity.ts'
import { verifyEncryptionKeys } from '../platform/encryption/key-checks.ts'
import { createClockOffset } from '../platform/jobs/clock-watch.ts'
import { watchWorkers } from '../platform/jobs/worker-heartbeats.ts'
import type { Log } from '../platform/observability/log.ts'
import { createReminder } from '../platform/observability/reminder.ts'
import { every } from '../platform/process/every.ts'
import { createLinkVault } from '../supply/gift-link.ts'
import { checkWebhookUrl } from '../webhooks/url-rules.ts'
import type { Part, ProgramDeps } from './run-program.ts'
import { countBatches, listening, networksOf, openAdmissionFrom, openKeyringFrom } from './wiring.ts'

const CHECK_EVERY_MS = 2_000

/** Parts that an embedding program may replace. `bin/api.ts` replaces none, whatever its settings say. */
export interface ApiParts
  extends Partial<Pick<SignedFamilyDeps, 'clock' | 'routes' | 'interference'>>,
    Partial<Pick<EndpointDeps, 'checkUrl'>> {
  admission?(real: Admission): Admission
  /** Wraps the handling of every request; may answer instead of the edge. */
  around?(serve: ServeRequest): ServeRequest
}

export interface Api extends Part {
  readonly admission: Admission
  listen(): Promise<number>
}

/** The whole API except its process. */
export async function createApi(config: Config, deps: ProgramDeps, parts: ApiParts = {}): Promise<Api> {
  const { log, metrics, db, tracing } = deps
  const keyring = openKeyringFrom(config)
  const real = await openAdmissionFrom(config, db, log, metrics)
  const admission = parts.admission?.(real) ?? real
  const catalogue = liveCatalogue(db, (error) =>
    log.warn({ err: error }, 'the catalogue could not be refreshed; it is retried'),
  )
  const keys = createKnownKeys(db, keyring)
  const changes = followAccessChanges(db, { keys, admission }, (error) =>
    log.warn({ err: error }, 'changes of accounts could not be read; it is retried'),
  )
  const surroundings = watchSurroundings(deps, admission)
  const acknowledged = rememberAcknowledged(db, log)
  const onBatch = countBatches(metrics, 'place_order')
  const batches = { mode: config.SHOPWIRE_BATCHING, tracing, onBatch }
  const endpoints = allEndpoints({
    db,
    catalogue,
    vault: createLinkVault(db, keyring),
    keyring,
    metrics,
    place: acknowledged.remembering(placeInBatches(db, batches)),
    problem: surroundings.problem,
    isServing: () => admission.problem() === undefined,
    checkUrl: parts.checkUrl ?? ((url, account_id) => checkWebhookUrl(url, account_id, networksOf(config))),
  })
  const addressOf = addressReader(config.SHOPWIRE_TRUSTED_PROXY_HOPS)
  const evidence = createEvidenceWriter(db, { log, metrics })
  const usage = createKeyUsage(db, { addressOf, log })
  const { edge, loop } = openEdge(config, deps, parts, {
    endpoints,
    addressOf,
    evidence,
    usage,
    access: { keys, admission, metrics },
  })
  const identity = watchDatabaseIdentity(db, log, metrics, acknowledged.follow)
  const noteAdmission = async () => void (await noteAdmissionInUse(db, config.SHOPWIRE_ADMISSION))
  const noting = every(ADMISSION_SEEN_EVERY_MS, noteAdmission, (error) =>
    log.warn({ err: error }, 'the kind of admission store in use could not be recorded; it is retried'),
  )

  return {
    admission,
    listensFirst: true,
    problem: admission.problem,
    async listen() {
      await listening(
        'SHOPWIRE',
        config,
        edge.listen({ port: config.SHOPWIRE_PORT, host: config.SHOPWIRE_HOST }),
      )
      return (edge.server.address() as AddressInfo).port
    },
    async open(until) {
      await until('database', () => verifyEncryptionKeys(db, keyring))
      await until('database', () => identity.start())
      await until('admission', () => admission.open())
      // PostgreSQL compares with the account's own row, so changes need no announcement.
      if (config.SHOPWIRE_ADMISSION !== 'postgres') await until('database', () => changes.open())
      await until('database', noteAdmission)
      noting.start()
      evidence.start()
      usage.start()
      await until('database', () => catalogue.open())
      surroundings.start()
    },
    drainConnections() {
      edge.server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
    },
    stops: [
      { name: 'finish requests', run: () => edge.close() },
      { name: 'stop watching the event loop', run: () => loop.stop() },
      { name: 'write evidence', run: () => evidence.stop() },
      { name: 'write the usage of keys', run: () => usage.stop() },
      { name: 'stop following the catalogue', run: () => catalogue.close() },
      { name: 'stop watching the clock and the workers', run: () => surroundings.stop() },
      { name: 'stop watching the database identity', run: () => identity.stop() },
      { name: 'stop following account changes', run: () => changes.close() },
      { name: 'stop recording the admission store', run: () => noting.stop() },
      { name: 'close admission', run: () => admission.close() },
    ],
  }
}

/** By the clock of the machine; the emulator serves callers by another one. */
function watchSurroundings({ log, metrics, db }: ProgramDeps, admission: Admission) {
  const offset = createClockOffset({ db, metrics, clock: systemClock, monotonicMs: () => performance.now() })
  const workers = watchWorkers(db, metrics)
  const problem = () => admission.problem() ?? offset.problem() ?? workers.problem()
  metrics.admissionFailing.from(() => (admission.problem() === undefined ? 0 : 1))
  const reportProblem = reporterOf(log)
  const checking = every(
    CHECK_EVERY_MS,
    async () => {
      await offset.measure()
      await workers.look()
      reportProblem(problem())
    },
    (error) =>
      log.warn({ err: error }, 'the clock and the workers of this store could not be checked; it is retried'),
  )
  return { problem, start: checking.start, stop: checking.stop }
}

/** The server with its route families, and its load shedding. */
function openEdge(
  config: Config,
  { log, metrics, tracing }: ProgramDeps,
  parts: ApiParts,
  own: Pick<SignedFamilyDeps, 'addressOf' | 'evidence' | 'usage' | 'access'> & {
    readonly endpoints: ReturnType<typeof allEndpoints>
  },
) {
  const loop = watchLoopLag()
  const load = createLoadShedding({
    inFlightMax: config.SHOPWIRE_REQUESTS_IN_FLIGHT,
    lagMs: loop.lagMs,
    onShed: (reason) => metrics.requestsShed.inc({ reason }),
  })
  metrics.requestsInFlight.from(load.inFlight)
  const shared = {
    clock: parts.clock ?? systemClock,
    addressOf: own.addressOf,
    ...(parts.routes && { routes: parts.routes }),
  }
  const edge = createEdge(
    {
      log,
      metrics,
      tracing,
      connectionsMax: config.SHOPWIRE_CONNECTIONS_MAX,
      connectionsPerAddressMax:
        config.SHOPWIRE_TRUSTED_PROXY_HOPS > 0 ? 0 : config.SHOPWIRE_CONNECTIONS_PER_ADDRESS,
      ...(parts.around && { around: parts.around }),
    },
    [
      signedFamily(
        {
          ...shared,
          load,
          evidence: own.evidence,
          usage: own.usage,
          access: own.access,
          metrics,
          ...(parts.interference && { interference: parts.interference }),
        },
        own.endpoints,
      ),
      publicFamily(
        {
          ...shared,
          metrics,
          files: new Map([...ownFiles(), ...docsPortal(config.SHOPWIRE_DOCS_FOLDER)]),
        },
        own.endpoints,
      ),
    ],
  )
  return { edge, loop }
}

function reporterOf(log: Log) {
  const reminder = createReminder()
  let hadProblem = false
  return (problem: string | undefined) => {
    // Not keyed by the text, which may contain a changing number.
    if (problem !== undefined && reminder.isDue('degraded')) log.error(`/v1/status is degraded: ${problem}`)
    if (problem === undefined && hadProblem) {
      reminder.reset()
      log.info('/v1/status is operational again')
    }
    hadProblem = problem !== undefined
  }
}
