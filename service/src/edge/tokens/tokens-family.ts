import type { IncomingMessage } from 'node:http'
import { RATE_WINDOW_S } from '@shopwire/contract'
import type { TokenRight } from '@shopwire/contract/dashboard'
import type { AccessMetrics } from '../../access/metrics.ts'
import type { TokenEvents } from '../../dashboard/keys/token-events.ts'
import { proofFor } from '../../dashboard/keys/token-proof.ts'
import { callerOfToken, type TokenCaller } from '../../dashboard/keys/tokens.ts'
import { createThrottle } from '../../platform/batching/throttle.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/database/db.ts'
import { Refusal } from '../../platform/trouble.ts'
import { bodyNotTaken } from '../read-input.ts'
import { carriesBody, refuseDeclaredLength } from '../receive-body.ts'
import { toRefusalAnswer } from '../refusal-answer.ts'
import type { Exchange, FamilyRoute, RouteFamily } from '../route-family.ts'

export interface TokensFamilyDeps {
  readonly db: Db
  readonly clock: Clock
  readonly metrics: Pick<AccessMetrics, 'rateLimited'>
  readonly events: Pick<TokenEvents, 'open'>
  addressOf(request: IncomingMessage): string
}

/** Per token, and per address whose tokens are refused. */
const PER_TOKEN_MAX = 60
const REFUSED_PER_ADDRESS_MAX = 30
const NAMES_MAX = 100_000

/** For command lines: a personal access token in the Authorization header, and no cookie. Every route only reads. */
export function tokensFamily(deps: TokensFamilyDeps): RouteFamily {
  const windowMs = RATE_WINDOW_S * 1000
  const byToken = createThrottle({ hitsMax: PER_TOKEN_MAX, windowMs, namesMax: NAMES_MAX })
  const refused = createThrottle({ hitsMax: REFUSED_PER_ADDRESS_MAX, windowMs, namesMax: NAMES_MAX })
  const blocked = new Map<string, number>()

  async function authenticate(exchange: Exchange, right: TokenRight): Promise<TokenCaller> {
    const { request } = exchange
    refuseDeclaredLength(request)
    if (carriesBody(request)) throw bodyNotTaken(request.method ?? '')
    const nowMs = deps.clock.nowMs()
    const address = deps.addressOf(request)
    const waitMs = (blocked.get(address) ?? 0) - nowMs
    if (waitMs > 0) throw tooMany(waitMs)
    blocked.delete(address)
    const caller = await callerOfToken(deps.db, bearerOf(request), right, nowMs).catch((error: unknown) => {
      if (error instanceof Refusal && error.type === 'authentication_failed') {
        const overMs = refused.hit(address, nowMs)
        if (overMs > 0 && blocked.size < NAMES_MAX) blocked.set(address, nowMs + overMs)
      }
      throw error
    })
    exchange.actor = {
      person_id: caller.person_id,
      account_id: caller.account_id,
      token_id: caller.token_id,
    }
    const overMs = byToken.hit(caller.token_id, nowMs)
    if (overMs > 0) throw tooMany(overMs)
    return caller
  }

  function tooMany(waitMs: number): Refusal {
    deps.metrics.rateLimited.inc({ policy: 'tokens' })
    const seconds = Math.ceil(waitMs / 1000)
    const message = `Too many requests came with this token or from this address. Wait ${seconds} s.`
    return new Refusal('rate_limited', message, {}, { 'retry-after': String(seconds) })
  }

  const events: FamilyRoute = {
    name: 'tokens.events',
    path: '/tokens/events',
    methods: ['GET'],
    async answer(_match, exchange) {
      const caller = await authenticate(exchange, 'events:listen')
      const { request, request_id } = exchange
      const last = request.headers['last-event-id']
      const body = await deps.events.open(caller, {
        last_event_id: typeof last === 'string' ? last : undefined,
        address: deps.addressOf(request),
        request_id,
      })
      exchange.isOpenEnded = true
      // Other callers may close their sending side and still get an answer; a listener leaves by closing it.
      request.socket.once('end', () => body.destroy())
      return {
        status: 200,
        body,
        headers: {
          'content-type': 'text/event-stream; charset=utf-8',
          // Proxies that buffer answers would hold events back.
          'x-accel-buffering': 'no',
        },
      }
    },
  }
  const proof: FamilyRoute = {
    name: 'tokens.proof',
    path: '/tokens/proofs/{id}',
    methods: ['GET'],
    async answer({ id }, exchange) {
      const { account_id } = await authenticate(exchange, 'orders:prove')
      return { status: 200, body: JSON.stringify(await proofFor(deps.db, account_id, id)) }
    },
  }
  return { name: 'tokens', prefix: '/tokens', routes: [events, proof], presentError: toRefusalAnswer }
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer ([!-~]{1,200})$/i.exec(headers.authorization ?? '')?.[1]
}
