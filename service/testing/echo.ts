import type { RouteName } from '@shopwire/contract'
import { type Endpoint, endpoint } from '../src/edge/endpoints/endpoint.ts'

/** The call of an echoing endpoint; also the body of its answer. */
export interface EchoCall {
  readonly name: RouteName
  readonly query: unknown
  readonly body: unknown
  readonly id: string
}

/** Endpoints that answer with their input, so that a test sees what passed the edge and what did not. */
export function echoes(...names: RouteName[]) {
  const calls: EchoCall[] = []
  const endpoints = (): Endpoint[] =>
    names.map((name) =>
      endpoint(name, async ({ query, body, id }) => {
        const call: EchoCall = { name, query, body, id }
        calls.push(call)
        return { status: 200, body: call as never }
      }),
    )
  return { calls, endpoints }
}
