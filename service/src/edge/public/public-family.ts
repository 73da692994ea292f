import type { IncomingMessage } from 'node:http'
import { PUBLIC_FILES_PER_WINDOW_MAX, RATE_WINDOW_S, type Route } from '@shopwire/contract'
import type { AccessMetrics } from '../../access/metrics.ts'
import { createThrottle } from '../../platform/batching/throttle.ts'
import type { Clock } from '../../platform/clock.ts'
import { Refusal } from '../../platform/trouble.ts'
import {
  asJson,
  type Endpoint,
  type MountedEndpoint,
  mountEndpoints,
  placeOf,
} from '../endpoints/endpoint.ts'
import { bodyNotTaken, createInputReader } from '../read-input.ts'
import { carriesBody, refuseDeclaredLength } from '../receive-body.ts'
import { toRefusalAnswer } from '../refusal-answer.ts'
import type { FamilyRoute, RouteFamily } from '../route-family.ts'
import { answerWithFile, assertOutsideContract, type PublicFile, type PublicFiles } from './public-files.ts'

export interface PublicFamilyDeps {
  readonly clock: Clock
  readonly metrics: Pick<AccessMetrics, 'rateLimited'>
  readonly files: PublicFiles
  addressOf(request: IncomingMessage): string
  /** Instead of the contract's. */
  readonly routes?: readonly Route[]
}

/**
 * Public files are limited per address, because an answer is much larger than its request. Routes are not limited
 * (docs/decisions/0006).
 */
const FILES_LIMIT = {
  hitsMax: PUBLIC_FILES_PER_WINDOW_MAX,
  windowMs: RATE_WINDOW_S * 1000,
  namesMax: 100_000,
}

/** What anybody may read: the endpoints whose rows in the contract have no scope, and the public files. */
export function publicFamily(deps: PublicFamilyDeps, endpoints: readonly Endpoint[]): RouteFamily {
  assertOutsideContract(deps.files)
  const mounted = mountEndpoints(endpoints, deps.routes).filter(({ route }) => route.scope === null)
  const refuseTooManyFiles = fileLimit(deps)
  const routes = [
    ...mounted.map((endpoint) => publicRoute(deps, endpoint)),
    ...[...deps.files].map(([path, file]) => fileRoute(path, file, refuseTooManyFiles)),
  ]
  return { name: 'public', routes, presentError: toRefusalAnswer }
}

function publicRoute(
  { clock, addressOf }: PublicFamilyDeps,
  { endpoint, route }: MountedEndpoint,
): FamilyRoute {
  const input = createInputReader(route)
  return {
    ...placeOf(route),
    async answer({ id, query }, { request, request_id }) {
      refuseDeclaredLength(request)
      refuseBody(request)
      const call = {
        ...NOBODY,
        query: input.query(query),
        id,
        nowMs: clock.nowMs(),
        request_id,
        address: () => addressOf(request),
      }
      return asJson(await endpoint.handle(call))
    },
  }
}

/** No caller is authenticated: signature headers are ignored. */
const NOBODY = {
  caller: undefined,
  body: undefined,
  ifNoneMatch: undefined,
  readmit: async () => undefined,
  note() {},
}

function fileRoute(path: string, file: PublicFile, refuseTooManyFiles: Limit): FamilyRoute {
  return {
    name: 'file',
    path,
    methods: ['GET'],
    async answer(_match, { request }) {
      refuseDeclaredLength(request)
      refuseTooManyFiles(request)
      refuseBody(request)
      return answerWithFile(file, request.headers)
    },
  }
}

type Limit = (request: IncomingMessage) => void

function fileLimit({ addressOf, clock, metrics }: PublicFamilyDeps): Limit {
  const calls = createThrottle(FILES_LIMIT)
  return (request) => {
    const waitMs = calls.hit(addressOf(request), clock.nowMs())
    if (waitMs === 0) return
    metrics.rateLimited.inc({ policy: 'public' })
    const seconds = Math.ceil(waitMs / 1000)
    throw new Refusal(
      'rate_limited',
      `Too many files were fetched from this address. Wait ${seconds} s.`,
      {},
      { 'retry-after': String(seconds) },
    )
  }
}

function refuseBody(request: IncomingMessage): void {
  if (carriesBody(request)) throw bodyNotTaken(request.method ?? '')
}
