import type { RouteName } from '@shopwire/contract'
import { type Endpoint, endpoint } from '../src/edge/endpoint.ts'

/** What an echoing endpoint was called with; also the body of its answer. */
export interface Heard {
  readonly name: RouteName
  readonly query: unknown
  readonly body: unknown
  readonly id: string
}

/** Endpoints that answer with what they were given, so that a test sees what passed the edge and what never did. */
export function echoes(...names: RouteName[]) {
  const heard: Heard[] = []
  const endpoints = (): Endpoint[] =>
    names.map((name) =>
      endpoint(name, async ({ query, body, id }) => {
        const call: Heard = { name, query, body, id }
        heard.push(call)
        return { status: 200, body: call as never }
      }),
    )
  return { heard, endpoints }
}
