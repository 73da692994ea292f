import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { RATE_WINDOW_S } from '@shopwire/contract'
import { type DashboardRoute, dashboardRoutes, type identityRoutes } from '@shopwire/contract/dashboard'
import type { AccessMetrics } from '../../access/metrics.ts'
import type { Area } from '../../dashboard/area.ts'
import type { Member } from '../../dashboard/member.ts'
import type { LoadShedding, LoadSheddingOptions, SenderKind } from '../../platform/batching/load-shedding.ts'
import { createThrottle } from '../../platform/batching/throttle.ts'
import type { Clock } from '../../platform/clock.ts'
import { Refusal, refuse } from '../../platform/trouble.ts'
import type { IdentityAnswer, IdentityArea } from '../../sessions/identity-call.ts'
import type { Sessions } from '../../sessions/index.ts'
import type { SignedIn } from '../../sessions/signed-in.ts'
import { bodyNotTaken, createInputReader, type InputReader } from '../read-input.ts'
import { receiveBody, refuseDeclaredLength } from '../receive-body.ts'
import { toRefusalAnswer } from '../refusal-answer.ts'
import type { Answer, AnswerBody, Exchange, FamilyRoute, RouteFamily, RouteMatch } from '../route-family.ts'
import { securityHeaders } from '../security-headers.ts'
import { refuseForeignPage, refuseWithoutToken } from './forgery-checks.ts'
import { createPresenter, type PresentReply } from './present-reply.ts'
import { refuseOtherAccount, shownAccountOf } from './shown-account.ts'

export interface DashboardFamilyDeps {
  readonly clock: Clock
  readonly metrics: Pick<AccessMetrics, 'rateLimited'>
  readonly load: Pick<LoadShedding, 'enter'>
  readonly sessions: Pick<Sessions, 'identify'>
  /** The origin of its pages, such as https://dashboard.example.com; without a slash at the end. */
  readonly origin: string
  /** Compares each reply with its schema before it is sent; for development and tests. */
  readonly isStrict?: boolean
  readonly requestsPerMinute?: number
  addressOf(request: IncomingMessage): string
}

/** Handlers by the name of their route. Identity handlers get cookies; all others get a member. */
export type DashboardHandlers = IdentityArea<typeof identityRoutes> &
  Area<readonly Exclude<(typeof dashboardRoutes)[number], (typeof identityRoutes)[number]>[]>

/** To callers the table is uniform: the schemas have made the values fit. */
type AnyHandler = (call: never) => Promise<unknown>

interface Mounted {
  readonly route: DashboardRoute
  readonly input: InputReader
  readonly handle: AnyHandler
  readonly present: PresentReply
}

interface FamilyContext extends DashboardFamilyDeps {
  readonly headers: Readonly<Record<string, string>>
  refuseTooMany(name: string, nowMs: number): void
}

/** Far more than the busiest page sends. Counted per session, or per address if nobody is signed in. */
const REQUESTS_PER_MINUTE = 1_200
/**
 * A page sends about ten requests at once, and a person may open several pages together; a page repeats what was refused. A visitor
 * without a session needs one or two requests at a time, even when a few colleagues share an address. Neither can take most of the
 * database connections, or of the processor, from those who are signed in.
 */
export const DASHBOARD_LOAD: Pick<LoadSheddingOptions, 'inFlightMax' | 'ownMax'> = {
  inFlightMax: 128,
  ownMax: { session: 16, address: 8 },
}
const PREFIX = '/api'
/** Keeps an answer from running as a page, should a browser ever open it directly. */
const POLICY = "default-src 'none'; frame-ancestors 'none'"

/** The dashboard's API: for pages of its own origin, with sessions in a cookie, roles and a second factor. */
export function dashboardFamily(
  deps: DashboardFamilyDeps,
  handlers: DashboardHandlers,
  table: readonly DashboardRoute[] = dashboardRoutes,
): RouteFamily {
  const context = {
    ...deps,
    headers: { ...securityHeaders(deps.origin), 'content-security-policy': POLICY },
    refuseTooMany: createLimit(deps),
  }
  const routes = table.map((route): FamilyRoute => {
    const handle = (handlers as Readonly<Record<string, AnyHandler>>)[route.name]
    if (!handle) throw new Error(`The route ${route.name} of the dashboard has no handler.`)
    if (!route.path.startsWith(`${PREFIX}/`)) throw new Error(`${route.path} is not below ${PREFIX}.`)
    const mounted = {
      route,
      handle,
      input: createInputReader(route),
      present: createPresenter(route, deps.isStrict === true),
    }
    return {
      name: route.name,
      path: route.path,
      methods: [route.method],
      answer: (match, exchange) => answerCounted(context, mounted, match, exchange),
    }
  })
  return { name: 'dashboard', prefix: PREFIX, routes, presentError: toRefusalAnswer }
}

/**
 * A request is in flight until it is answered; a download until it has been read, because it keeps querying the database. A stream
 * of events does not count: it stays open as long as its page, sends no queries itself, and has separate limits
 * (dashboard/live/live.ts).
 */
async function answerCounted(
  context: FamilyContext,
  mounted: Mounted,
  match: RouteMatch,
  exchange: Exchange,
): Promise<Answer<AnswerBody>> {
  let leave: (() => void) | undefined
  let isLeftLater = false
  try {
    const answered = await answer(context, mounted, match, exchange, (name, kind) => {
      leave = context.load.enter(name, kind)
    })
    const { response } = exchange
    if (leave && mounted.route.download && answered.body instanceof Readable && !response.closed) {
      isLeftLater = true
      response.once('close', leave)
    }
    return answered
  } finally {
    if (!isLeftLater) leave?.()
  }
}

/**
 * From headers to answer, in the fixed order of checks: declared length, body, origin, session, load, CSRF token, whether there is
 * a second factor at all, the account that the page shows, role, fresh second factor, validation, then the handler. Every refusal
 * is thrown.
 */
async function answer(
  { headers, refuseTooMany, ...deps }: FamilyContext,
  { route, input, handle, present }: Mounted,
  match: RouteMatch,
  exchange: Exchange,
  onKnown: (name: string, kind: SenderKind) => void,
): Promise<Answer<AnswerBody>> {
  const { request, request_id } = exchange
  exchange.headers = headers
  refuseDeclaredLength(request)
  const bytes = await receiveBody(request, exchange.response)
  const { access } = route
  refuseForeignPage(request, deps.origin, access === 'anyone')
  if (route.method === 'POST') refuseOtherContent(exchange.request.headers['content-type'])

  const nowMs = deps.clock.nowMs()
  const { cookie } = request.headers
  const { signed_in, csrf_token } = await deps.sessions.identify(cookie, nowMs)
  const address = deps.addressOf(request)
  if (signed_in) exchange.actor = actorOf(signed_in)
  if (signed_in) onKnown(signed_in.session_id, 'session')
  else onKnown(address, 'address')
  refuseTooMany(signed_in?.session_id ?? address, nowMs)
  if (access !== 'anyone' && !signed_in) throw signInRequired()
  if (route.method === 'POST') refuseWithoutToken(request, csrf_token)
  if (signed_in?.must_enrol && access !== 'anyone' && !route.isEnrolment) throw secondFactorMissing()
  const isAboutAccount = typeof access !== 'string'
  // A person without an account is refused by the role check.
  if (isAboutAccount && signed_in?.account)
    refuseOtherAccount(shownAccountOf(route, request, match.query), signed_in.account.id)
  const member =
    signed_in && isAboutAccount ? memberOf(signed_in, access, { address, request_id }) : undefined
  if (route.isStepUp && !isSteppedUp(signed_in, nowMs)) throw stepUpRequired()

  if (bytes.length > 0 && route.body === undefined) throw bodyNotTaken(route.method)
  const valid = { id: match.id, query: input.query(match.query), body: input.body(bytes), nowMs }
  if (member) {
    const call = { ...valid, member, last_event_id: headerOf(request, 'last-event-id') }
    const reply = await handle(call as never)
    if (reply instanceof Readable) endWithReader(exchange, reply)
    return present(reply)
  }
  const user_agent = headerOf(request, 'user-agent') ?? ''
  const { reply, setCookie, redirect } = (await handle({
    ...valid,
    cookie,
    address,
    user_agent,
    request_id,
  } as never)) as IdentityAnswer<unknown>
  const answered =
    redirect === undefined ? present(reply) : { status: 303, body: '', headers: { location: redirect } }
  return setCookie
    ? { ...answered, headers: { ...answered.headers, 'set-cookie': [...setCookie] } }
    : answered
}

/** A connection may be closed on one side and still take an answer. A browser that has closed its side is gone. */
function endWithReader(exchange: Exchange, stream: Readable): void {
  const { socket } = exchange.request
  const end = () => void stream.destroy()
  exchange.isOpenEnded = true
  socket.once('end', end)
  stream.once('close', () => socket.off('end', end))
}

function actorOf({ person, account }: SignedIn): Readonly<Record<string, string>> {
  return account ? { person_id: person.id, account_id: account.id } : { person_id: person.id }
}

function memberOf(
  { session_id, person, account }: SignedIn,
  allowed: Exclude<DashboardRoute['access'], string>,
  request: Pick<Member, 'address' | 'request_id'>,
): Member {
  if (!account) {
    throw refuse(
      'role_missing',
      'You are not in an account. Choose one of your accounts, or ask the owner of one to invite you.',
    )
  }
  if (!allowed.includes(account.role)) {
    throw refuse(
      'role_missing',
      `This is for the ${listOf(allowed)} of the account; you are ${account.role}. Ask an owner to do it or to change your role.`,
    )
  }
  return {
    person_id: person.id,
    person_name: person.name,
    email: person.email,
    account_id: account.id,
    role: account.role,
    session_id,
    ...request,
  }
}

function listOf(names: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(names)
}

function isSteppedUp(signed_in: SignedIn | undefined, nowMs: number): boolean {
  return (signed_in?.stepped_up_until_ms ?? 0) > nowMs
}

function signInRequired() {
  return refuse(
    'sign_in_required',
    'Nobody is signed in here, or the session has ended. Sign in and try again.',
  )
}

function stepUpRequired() {
  return refuse(
    'step_up_required',
    'This needs a second factor confirmed in the last five minutes. Confirm with your passkey or code, then try again.',
  )
}

function secondFactorMissing() {
  return refuse(
    'second_factor_missing',
    'A password alone gives no access here, and you have no second factor yet. Reload the page and set one up.',
  )
}

/** A form on another site can send other content types without a preflight request, but not this one. */
function refuseOtherContent(contentType: string | undefined): void {
  if (contentType === undefined || !JSON_TYPE.test(contentType))
    throw refuse('invalid_request', 'Send Content-Type: application/json.')
}
const JSON_TYPE = /^application\/json(; ?charset=utf-8)?$/i

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

function createLimit({ metrics, requestsPerMinute = REQUESTS_PER_MINUTE }: DashboardFamilyDeps) {
  const calls = createThrottle({
    hitsMax: requestsPerMinute,
    windowMs: RATE_WINDOW_S * 1000,
    namesMax: 100_000,
  })
  return (name: string, nowMs: number) => {
    const waitMs = calls.hit(name, nowMs)
    if (waitMs === 0) return
    metrics.rateLimited.inc({ policy: 'dashboard' })
    const seconds = Math.ceil(waitMs / 1000)
    throw new Refusal(
      'rate_limited',
      `Too many requests came from this session. Wait ${seconds} s and try again.`,
      {},
      { 'retry-after': String(seconds) },
    )
  }
}
