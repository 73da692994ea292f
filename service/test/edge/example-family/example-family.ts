import { randomBytes } from 'node:crypto'
import { type ErrorType, errorTypes } from '@shopwire/contract'
import { receiveBody, refuseDeclaredLength } from '../../../src/edge/receive-body.ts'
import type { Exchange, PresentedError, RouteFamily } from '../../../src/edge/route-family.ts'
import { Refusal, refuse } from '../../../src/platform/trouble.ts'

/**
 * A route family as a browser console would be one: sessions in a cookie, pages for people and JSON for scripts, errors in both. It
 * shows what a family needs from the edge, and the test beside it that nothing else has to change for it.
 */
export function exampleFamily(): RouteFamily {
  const sessions = new Map<string, string>()

  function authenticate(exchange: Exchange): string {
    const [, session] = /(?:^|; )session=([\w-]+)(?:;|$)/.exec(exchange.request.headers.cookie ?? '') ?? []
    const user = sessions.get(session ?? '')
    if (user === undefined) throw refuse('authentication_failed', 'Sign in first.')
    exchange.actor = { user }
    return user
  }

  return {
    name: 'example',
    prefix: '/example',
    routes: [
      {
        name: 'example-home',
        path: '/example',
        methods: ['GET', 'HEAD'],
        answer: async (_match, exchange) => page(200, `Hello, ${authenticate(exchange)}`),
      },
      {
        name: 'example-sign-in',
        path: '/example/sign-in',
        methods: ['POST'],
        async answer(_match, { request, response }) {
          refuseDeclaredLength(request)
          if (request.headers['content-type'] !== 'application/x-www-form-urlencoded')
            throw refuse('invalid_request', 'Send the form as a browser does.')
          const user = new URLSearchParams((await receiveBody(request, response)).toString()).get('user')
          if (user === null) throw refuse('invalid_request', 'Say who you are.')
          const session = randomBytes(16).toString('hex')
          sessions.set(session, user)
          const headers = {
            'set-cookie': `session=${session}; HttpOnly; SameSite=Strict`,
            location: '/example',
          }
          return { ...page(303, 'Signed in'), headers }
        },
      },
      {
        name: 'example-thing',
        path: '/example/things/{id}',
        methods: ['GET'],
        async answer({ id }, exchange) {
          const user = authenticate(exchange)
          if (id === 'broken') throw new Error(`a secret of ${user}`)
          return { status: 200, body: JSON.stringify({ id, user }) }
        },
      },
    ],
    presentError,
  }
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }

function page(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
  return {
    status,
    body: `<!doctype html><p>${text.replaceAll('<', '&lt;')}</p>`,
    headers: { ...HTML, ...headers },
  }
}

/** For scripts, which ask for JSON, one flat object; for everybody else a page. */
function presentError(error: unknown, { request, request_id }: Exchange): PresentedError {
  if (request.headers['x-example'] === 'cannot be presented') throw new Error('a secret of the family')
  const type =
    error instanceof Refusal && error.type in errorTypes ? (error.type as ErrorType) : 'internal_error'
  const text = error instanceof Refusal ? error.message : `Something went wrong. Tell us ${request_id}.`
  const headers = error instanceof Refusal ? error.headers : {}
  const { status } = errorTypes[type]
  if (request.headers.accept !== 'application/json') return { type, ...page(status, text, headers) }
  return { type, status, body: JSON.stringify({ problem: type, text }), headers }
}
