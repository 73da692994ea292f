import type { Route } from '@shopwire/contract'
import { asJson, type Endpoint, mountEndpoints, placeOf } from '../endpoints/endpoint.ts'
import { createInputReader } from '../read-input.ts'
import { toRefusalAnswer } from '../refusal-answer.ts'
import type { FamilyRoute, RouteFamily } from '../route-family.ts'
import { type PipelineDeps, runPipeline } from './pipeline.ts'

export interface SignedFamilyDeps extends PipelineDeps {
  /** Instead of the contract's. */
  readonly routes?: readonly Route[]
}

/** The API: the endpoints whose rows in the contract have a scope. Every request is signed with a key of an account. */
export function signedFamily(deps: SignedFamilyDeps, endpoints: readonly Endpoint[]): RouteFamily {
  const routes = mountEndpoints(endpoints, deps.routes).flatMap(({ endpoint, route }): FamilyRoute[] => {
    if (route.scope === null) return []
    const signed = { endpoint, route, scope: route.scope, input: createInputReader(route) }
    return [
      {
        ...placeOf(route),
        answer: async (match, exchange) => asJson(await runPipeline(deps, signed, match, exchange)),
      },
    ]
  })
  return { name: 'signed', routes, presentError: toRefusalAnswer }
}
