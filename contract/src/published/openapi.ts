import { type ErrorType, errorTypes, type Retry } from '../errors.ts'
import { NONCE_FORM, requestHeaders, SIGNATURE_FORM, TIMESTAMP_FORM, webhookHeaders } from '../headers.ts'
import { EVENT_ID_PATTERN, KEY_ID_PATTERN } from '../ids.ts'
import { RETRY_AFTER_S_MIN, WEBHOOK_PREVIOUS_SECRET_S } from '../limits.ts'
import { schemas } from '../resources.ts'
import { BASE_PATH, offersHead, type Route, type RouteName, routes, unroutedErrors } from '../routes.ts'
import { type Json, nameOf, parametersOf, schemaComponents, schemaRef } from './components.ts'
import { errorMessages, examples, paidOrder } from './examples.ts'
import { deliveryText, eventTexts, headerTexts, introduction, routeTexts, tagTexts } from './texts.ts'

/** The published interface is at this version; see "Versioning" there. */
const INTERFACE_VERSION = '1.0.0'

/** The contract as an OpenAPI 3.1 document. Everything in it comes from the tables beside it. */
export function openApiDocument(): Json {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Shopwire',
      version: INTERFACE_VERSION,
      summary: 'A storefront that servers buy from.',
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      {
        url: `https://{host}${BASE_PATH}`,
        description: 'A shop on the internet.',
        variables: {
          host: { default: 'shop.example', description: 'The shop’s name, and port if it has one.' },
        },
      },
      { url: BASE_PATH, description: 'The shop that this document was read from.' },
    ],
    tags: Object.entries(tagTexts).map(([name, description]) => ({ name, description })),
    security: [signed([])],
    paths: paths(),
    webhooks: Object.fromEntries(schemas.WebhookEvent.anyOf.map((schema) => webhook(schema))),
    components: {
      securitySchemes: securitySchemes(),
      headers,
      parameters,
      responses: { ...sharedResponses(), ...unmatchedResponses() },
      examples: Object.fromEntries((Object.keys(errorTypes) as ErrorType[]).map(errorExample)),
      schemas: schemaComponents(),
    },
    // OpenAPI cannot describe answers to requests that match no operation.
    'x-unmatched': Object.fromEntries(
      unmatched.map((type) => [
        errorTypes[type].status,
        { $ref: `#/components/responses/unmatched.${type}` },
      ]),
    ),
  }
}

/** As it is committed and served. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(), null, 2)}\n`
}

function paths(): Json {
  const found: Record<string, Record<string, Json>> = {}
  for (const route of routes as readonly Route[]) {
    found[route.path] = { ...found[route.path], [route.method.toLowerCase()]: operation(route) }
    if (offersHead(route)) found[route.path] = { ...found[route.path], head: headOperation(route) }
  }
  return found
}

function operation(route: Route): Json {
  const { tag, summary, description } = routeTexts[route.name as RouteName]
  const takesTag = 304 in route.responses
  const listed = [
    ...(route.path.includes('{id}') ? [{ $ref: '#/components/parameters/id' }] : []),
    ...(route.query ? parametersOf(route.query) : []),
    ...(takesTag ? [{ $ref: '#/components/parameters/If-None-Match' }] : []),
  ]
  return {
    operationId: route.name,
    tags: [tag],
    summary,
    description: `${description}\n\n${scopeText(route)}`,
    security: route.scope === null ? [] : [signed([route.scope])],
    ...(route.scope && { 'x-scope': route.scope }),
    ...(route.scopeWhenUrl && { 'x-scope-when-url': route.scopeWhenUrl }),
    ...(route.bucket && { 'x-rate-limits': route.bucket === 'orders' ? ['req', 'orders'] : ['req'] }),
    ...(listed.length > 0 && { parameters: listed }),
    ...(route.body && { requestBody: requestBody(route.body) }),
    responses: { ...successes(route), ...refusals(route) },
  }
}

/** What GET answers, without bodies. */
function headOperation(route: Route): Json {
  const { tag, summary } = routeTexts[route.name as RouteName]
  const refused = Object.entries(byStatus(route.errors)).map(([status, types]) => [
    status,
    refusal(route, types),
  ])
  const answers = { ...successes(route), ...Object.fromEntries(refused) }
  return {
    operationId: route.name.replace(/^get/, 'head'),
    tags: [tag],
    summary: `${summary} Headers only`,
    description: `As GET, without the body, for monitors that ask with HEAD.\n\n${scopeText(route)}`,
    security: [],
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, answer]) => {
        const { description, headers } = answer as Json
        return [status, { description, headers }]
      }),
    ),
  }
}

function scopeText({ scope, scopeWhenUrl }: Route): string {
  if (scope === null) return 'Scope: none; unsigned.'
  return `Scope: \`${scope}\`${scopeWhenUrl ? `, and \`${scopeWhenUrl}\` when the body names a URL` : ''}.`
}

function requestBody(schema: unknown): Json {
  const name = nameOf(schema)
  const shown: Record<string, Json> = { usual: { value: examples[name] } }
  if (name === 'WebhookRequest') shown.stop = { summary: 'Stop deliveries', value: { url: null } }
  return { required: true, content: { 'application/json': { schema: schemaRef(schema), examples: shown } } }
}

function successes(route: Route): Json {
  const { answers } = routeTexts[route.name as RouteName]
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, schema]) => [
      status,
      {
        description: answers[Number(status)] ?? '',
        headers: headerRefs([
          ...always,
          ...(route.scope === null ? [] : rate),
          ...(304 in route.responses ? ['ETag'] : []),
          ...(route.name === 'postOrders' && status === '200' ? ['Idempotent-Replayed'] : []),
        ]),
        ...(schema && {
          content: {
            'application/json': {
              schema: schemaRef(schema),
              examples: { usual: { value: status === '201' ? paidOrder : examples[nameOf(schema)] } },
            },
          },
        }),
      },
    ]),
  )
}

/** By status, with the types that this route can answer with and no others. */
function refusals(route: Route): Json {
  return Object.fromEntries(
    Object.entries(byStatus(route.errors)).map(([status, types]) => {
      const shared = sharedNames.get(refusalKey(route, types))
      return [status, shared ? { $ref: `#/components/responses/${shared}` } : refusal(route, types)]
    }),
  )
}

function refusal(route: Pick<Route, 'scope'>, types: readonly ErrorType[]): Json {
  const status = errorTypes[types[0] as ErrorType].status
  return {
    description: types.map(typeText).join('\n'),
    headers: headerRefs([
      ...always,
      // Known only after admission; earlier refusals have no rate headers.
      ...(route.scope === null || beforeAdmission.has(status) ? [] : maybeRate),
      ...(status === 429 || status === 503 ? ['Retry-After'] : []),
      ...(status === 405 ? ['Allow'] : []),
    ]),
    content: {
      'application/json': {
        schema: {
          allOf: [
            schemaRef(schemas.ErrorBody),
            { properties: { error: { properties: { type: { enum: types } } } } },
          ],
        },
        examples: Object.fromEntries(types.map((type) => [type, { $ref: `#/components/examples/${type}` }])),
      },
    },
  }
}
const beforeAdmission: ReadonlySet<number> = new Set([408, 413])

function typeText(type: ErrorType): string {
  const { meaning, retry } = errorTypes[type]
  return `- \`${type}\`: ${meaning} ${retryTexts[retry]}`
}
const retryTexts: Readonly<Record<Retry, string>> = {
  no: 'Do not send it again as it is.',
  after_change: 'Send it again once the cause is gone.',
  after_wait: 'Send it again after `Retry-After`, or with growing waits; signed afresh if it was signed.',
  fresh_signature: 'Send it again at once, signed afresh.',
}

/** Answers that several operations share are written once and named after their error types. */
function sharedResponses(): Json {
  const found: Record<string, Json> = {}
  for (const route of routes as readonly Route[]) {
    for (const types of Object.values(byStatus(route.errors))) {
      const name = sharedNames.get(refusalKey(route, types))
      if (name !== undefined) found[name] = refusal(route, types)
    }
  }
  return found
}

const sharedNames: ReadonlyMap<string, string> = findShared()

function findShared(): Map<string, string> {
  const uses = new Map<string, number>()
  for (const route of routes as readonly Route[]) {
    for (const types of Object.values(byStatus(route.errors))) {
      const key = refusalKey(route, types)
      uses.set(key, (uses.get(key) ?? 0) + 1)
    }
  }
  const shared = [...uses].filter(([, count]) => count > 1).map(([key]) => key)
  return new Map(shared.map((key) => [key, key.replace('signed.', '')]))
}

function refusalKey({ scope }: Route, types: readonly ErrorType[]): string {
  return `${scope === null ? 'public' : 'signed'}.${types.join('.')}`
}

/** Includes refusals before routing: bytes that are not HTTP, headers that do not end. */
const unmatched = [...unroutedErrors, 'invalid_request', 'request_timeout'] as const

function unmatchedResponses(): Json {
  return Object.fromEntries(unmatched.map((type) => [`unmatched.${type}`, refusal({ scope: null }, [type])]))
}

function byStatus(types: readonly ErrorType[]): Record<number, ErrorType[]> {
  const found: Record<number, ErrorType[]> = {}
  for (const type of types) {
    const { status } = errorTypes[type]
    found[status] = [...(found[status] ?? []), type]
  }
  return found
}

function errorExample(type: ErrorType): [string, Json] {
  return [
    type,
    {
      summary: `${errorTypes[type].status} ${type}`,
      value: { error: { type, message: errorMessages[type] } },
    },
  ]
}

function webhook(schema: (typeof schemas.WebhookEvent.anyOf)[number]): [string, Json] {
  const name = schema.properties.event.const
  const { summary, description } = eventTexts[name]
  const operationId = `on${name.replace(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`
  const post = {
    operationId,
    tags: ['Webhooks'],
    summary,
    description: `${description}\n\n${deliveryText}`,
    // The service is the caller here; the signature is in the headers.
    security: [],
    parameters: Object.keys(webhookHeaderTexts).map((header) => ({
      $ref: `#/components/parameters/${header}`,
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schemaRef(schema),
          examples: { usual: { value: examples[nameOf(schema)] } },
        },
      },
    },
    responses: {
      '2XX': { description: 'Accepted: it will not be sent again.' },
      default: { description: 'Not accepted: it will be tried again, on the schedule above.' },
    },
  }
  return [name, { post }]
}

const webhookHeaderTexts: Json = {
  [webhookHeaders.timestamp]: {
    required: true,
    description: 'Unix seconds, when this attempt was signed.',
    schema: { type: 'string', pattern: TIMESTAMP_FORM.source },
    example: '1794700000',
  },
  [webhookHeaders.id]: {
    required: true,
    description: 'The event’s id.',
    schema: { type: 'string', pattern: EVENT_ID_PATTERN },
    example: examples.TestEvent.id,
  },
  [webhookHeaders.signature]: {
    required: true,
    description: 'Made with the current secret.',
    schema: { type: 'string', pattern: SIGNATURE_FORM.source },
    example: '1e4b7d33a1a2f4a5c0f6b8f0b1f2d9a7e5c3b1a09f8e7d6c5b4a392817061524',
  },
  [webhookHeaders.previousSignature]: {
    required: false,
    description: `The same bytes signed with the previous secret, for ${WEBHOOK_PREVIOUS_SECRET_S / 3600} hours after a rotation.`,
    schema: { type: 'string', pattern: SIGNATURE_FORM.source },
  },
}

const parameters: Json = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'One segment of the path, compared byte by byte and never decoded.',
    schema: { type: 'string', minLength: 1 },
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an earlier answer.',
    schema: { type: 'string' },
  },
  ...Object.fromEntries(
    Object.entries(webhookHeaderTexts).map(([name, text]) => [
      name,
      { name, in: 'header', ...(text as Json) },
    ]),
  ),
}

const always = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options']
const rate = ['RateLimit-Policy', 'RateLimit']
const maybeRate = ['RateLimit-Policy.optional', 'RateLimit.optional']

const ratePolicy = {
  description: 'The two windows: how many (`q`) in how many seconds (`w`).',
  schema: { type: 'string' },
  example: '"req";q=120;w=60, "orders";q=20;w=60',
}
const rateLeft = {
  description:
    'What is left in each window (`r`), and the seconds until the oldest counted request leaves it (`t`).',
  schema: { type: 'string' },
  example: '"req";r=117;t=58, "orders";r=20;t=0',
}

const unlessEarly = ({ description }: { description: string }) =>
  `${description} Absent when the request was refused before the limits were asked, as a 503 under load.`

/** Every header of ours on an answer. What HTTP itself puts there (Date, Content-Length, Connection) is not listed. */
const headers: Readonly<Record<string, Json>> = {
  'X-Request-Id': {
    required: true,
    description: 'Names this answer in our logs; quote it when you ask about it.',
    schema: { type: 'string', pattern: '^req_[0-9a-hjkmnp-tv-z]{26}$' },
    example: 'req_01k9zq3v7m8n4p2r6s0t5w1x9y',
  },
  'Cache-Control': {
    required: true,
    description:
      'Answers must not be cached, except catalogue reads, which may be cached and must be revalidated.',
    schema: { type: 'string', enum: ['no-store', 'private, no-cache'] },
  },
  'X-Content-Type-Options': {
    required: true,
    description: 'Browsers must not guess another content type.',
    schema: { type: 'string', enum: ['nosniff'] },
  },
  'RateLimit-Policy': { required: true, ...ratePolicy },
  RateLimit: { required: true, ...rateLeft },
  'RateLimit-Policy.optional': { required: false, ...ratePolicy, description: unlessEarly(ratePolicy) },
  'RateLimit.optional': { required: false, ...rateLeft, description: unlessEarly(rateLeft) },
  'Retry-After': {
    required: true,
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
    example: String(RETRY_AFTER_S_MIN),
  },
  ETag: {
    required: true,
    description: 'Names the catalogue’s revision; send it back as `If-None-Match`.',
    schema: { type: 'string' },
    example: '"42-0"',
  },
  Allow: {
    required: true,
    description: 'The methods that this path takes.',
    schema: { type: 'string' },
    example: 'DELETE, GET, POST',
  },
  'Idempotent-Replayed': {
    required: true,
    description: 'This order was bought by an earlier request.',
    schema: { type: 'string', const: 'true' },
  },
}

function headerRefs(names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((name) => [name.replace('.optional', ''), { $ref: `#/components/headers/${name}` }]),
  )
}

const schemes = ['key', 'timestamp', 'nonce', 'signature'] as const

/** All four together. The scopes are repeated in each, where OpenAPI lists the roles a credential needs. */
function signed(scopes: readonly string[]): Json {
  return Object.fromEntries(schemes.map((name) => [requestHeaders[name], scopes]))
}

function securitySchemes(): Json {
  const forms = {
    key: KEY_ID_PATTERN,
    timestamp: TIMESTAMP_FORM.source,
    nonce: NONCE_FORM.source,
    signature: SIGNATURE_FORM.source,
  }
  return Object.fromEntries(
    schemes.map((name) => [
      requestHeaders[name],
      {
        type: 'apiKey',
        in: 'header',
        name: requestHeaders[name],
        description: headerTexts[name],
        'x-pattern': forms[name],
      },
    ]),
  )
}
