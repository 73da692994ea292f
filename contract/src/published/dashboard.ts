import { CSRF_HEADER } from '../dashboard/identity.ts'
import {
  ACCOUNT_HEADER,
  ACCOUNT_PARAMETER,
  type DashboardRoute,
  dashboardErrorTypes,
  dashboardRoutes,
} from '../dashboard/index.ts'
import { errorTypes } from '../errors.ts'
import type { Json } from './components.ts'

const VERSION = '1.0.0'
const INTRODUCTION =
  'What the pages of the dashboard ask. It is not the API that servers buy from, and may change with every release: the pages and the ' +
  'service are of one release. A session is a cookie; every POST also carries the Origin of the dashboard, `Sec-Fetch-Site: same-origin` ' +
  `and the token of the session in \`${CSRF_HEADER}\`. The account comes from the session. Every request about it names the account that ` +
  `its page shows, in \`${ACCOUNT_HEADER}\` or in the query of a file or stream, and is refused with \`account_mismatch\` if that is ` +
  'another one.'

/** The errors that any route may answer, by status. */
const REFUSALS: readonly (readonly [status: number, name: string])[] = [
  [400, 'Invalid'],
  [401, 'SignIn'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [409, 'Conflict'],
  [429, 'Limited'],
  [500, 'Failed'],
  [503, 'Unavailable'],
]

/** The dashboard's own API as an OpenAPI 3.1 document, from its table of routes. */
export function dashboardOpenApiDocument(table: readonly DashboardRoute[] = dashboardRoutes): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of table)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Shopwire dashboard',
      version: VERSION,
      summary: 'What the pages of the dashboard ask.',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The host name of the dashboard.' }],
    tags: [...new Set(table.map(tagOf))].map((name) => ({
      name,
      description: `Routes below \`/api/${name}\`.`,
    })),
    security: [{ session: [] }],
    paths,
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-shopwire-session',
          description: 'Set by signing in; HttpOnly, Secure, SameSite=Strict.',
        },
      },
      parameters: {
        id: {
          name: 'id',
          in: 'path',
          required: true,
          description: 'What it is about.',
          schema: { type: 'string' },
        },
        csrf: {
          name: CSRF_HEADER,
          in: 'header',
          required: true,
          description: '`csrf_token` of `GET /api/session`.',
          schema: { type: 'string' },
        },
        account: accountParameter('header', ACCOUNT_HEADER),
        accountInQuery: accountParameter('query', ACCOUNT_PARAMETER),
      },
      responses: Object.fromEntries(REFUSALS.map(([status, name]) => [name, refusal(status)])),
      schemas: {
        Error: {
          description: 'What went wrong, and what to do about it.',
          type: 'object',
          additionalProperties: false,
          required: ['error'],
          properties: {
            error: {
              type: 'object',
              additionalProperties: false,
              required: ['type', 'message'],
              properties: {
                type: { type: 'string', enum: Object.keys({ ...errorTypes, ...dashboardErrorTypes }) },
                message: { type: 'string', description: 'For people, in English.' },
              },
            },
          },
        },
      },
    },
  }
}

/** As it is committed. */
export function dashboardOpenApiText(): string {
  return `${JSON.stringify(dashboardOpenApiDocument(), null, 2)}\n`
}

function operation(route: DashboardRoute): Json {
  const parameters = [
    ...(route.path.endsWith('/{id}') ? [{ $ref: '#/components/parameters/id' }] : []),
    ...(route.method === 'POST' ? [{ $ref: '#/components/parameters/csrf' }] : []),
    ...accountParameters(route),
    ...queryParameters(route),
  ]
  return {
    operationId: route.name,
    tags: [tagOf(route)],
    summary: titleOf(route.name),
    description: `${accessText(route)}${route.isStepUp ? ' A second factor must have been given in the last five minutes.' : ''}`,
    ...(route.access === 'anyone' && { security: [] }),
    'x-roles': route.access,
    ...(route.isStepUp && { 'x-step-up': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: { required: true, content: { 'application/json': { schema: published(route.body) } } },
    }),
    responses: {
      200: { description: 'Done.', content: contentOf(route) },
      ...Object.fromEntries(
        REFUSALS.map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
      ),
    },
  }
}

function accountParameter(where: 'header' | 'query', name: string): Json {
  return {
    name,
    in: where,
    required: true,
    description: 'The account that the page shows: `account.id` of `GET /api/session` when it was loaded.',
    schema: { type: 'string' },
  }
}

/** A browser adds no header of ours to a link or a stream. */
function accountParameters({ access, reply }: DashboardRoute): Json[] {
  if (typeof access === 'string') return []
  return [{ $ref: `#/components/parameters/${reply ? 'account' : 'accountInQuery'}` }]
}

function contentOf({ reply, download, stream }: DashboardRoute): Json {
  if (reply) return { 'application/json': { schema: published(reply) } }
  return { [download ?? stream ?? 'application/octet-stream']: { schema: { type: 'string' } } }
}

function queryParameters({ query }: DashboardRoute): Json[] {
  const { properties = {}, required = [] } = (query ?? {}) as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

function refusal(status: number): Json {
  const types = Object.entries({ ...errorTypes, ...dashboardErrorTypes }).filter(
    ([, one]) => one.status === status,
  )
  return {
    description: `One of ${types.map(([type]) => `\`${type}\``).join(', ')}.`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}

function accessText({ access }: DashboardRoute): string {
  if (access === 'anyone') return 'For anyone.'
  if (access === 'signed-in') return 'For everybody who is signed in.'
  return `For members of the account: ${access.join(', ')}.`
}

function tagOf({ path }: DashboardRoute): string {
  return path.split('/')[2] ?? ''
}

/** `changeRole` → `Change role`. */
function titleOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** As JSON Schema 2020-12 writes it, which OpenAPI 3.1 requires: the entries of a tuple are its `prefixItems`. */
function published(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(published)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([name, value]) => [name, published(value)] as const)
  const { additionalItems: _, items, ...rest } = Object.fromEntries(entries)
  if (Array.isArray(items)) return { ...rest, prefixItems: items, items: false }
  return items === undefined ? rest : { ...rest, items }
}
