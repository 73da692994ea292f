import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import {
  BASE_PATH,
  CATALOGUE_LIMIT_MAX,
  EVENT_ID_FORM,
  errorTypes,
  KEY_ID_FORM,
  ORDERS_LIMIT_MAX,
  requestHeaders,
  routeNamed,
  routes,
  SIGNATURE_FORM,
  TIMESTAMP_FORM,
  WEBHOOK_RECEIVER_TOLERANCE_S,
  webhookHeaders,
} from '@shopwire/contract'
import { openApiDocument } from '@shopwire/contract/published'

type Schema = {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

type Document = {
  readonly paths: Readonly<Record<string, { readonly get?: { readonly parameters?: readonly Parameter[] } }>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

type Parameter = {
  readonly name?: string
  readonly in?: string
  readonly description?: string
  readonly schema?: Schema
}

/** As JSON the client builds these itself, from arguments that are named as JavaScript names things. */
const NOT_NEEDED = new Set([
  'ErrorBody',
  'OrderRequest',
  'QuoteRequest',
  'WebhookRequest',
  'WebhookTestRequest',
])

const NOTE = '// Made by "npm run generate" from contract/; do not edit.'

/**
 * What the client needs of the contract, as files without imports: a published package cannot depend on a workspace that is not
 * published, and a copy made by hand would drift.
 */
export function sdkTypesText(): string {
  const document = openApiDocument() as unknown as Document
  const schemas = Object.entries(document.components.schemas).filter(([name]) => !NOT_NEEDED.has(name))
  return format([
    NOTE,
    ...schemas.map(([name, schema]) => declaration(name, schema)),
    declaration('CatalogueQuery', query(document, '/catalogue')),
    declaration('OrdersQuery', query(document, '/orders')),
  ])
}

export function sdkConstantsText(): string {
  return format([
    NOTE,
    constant('SDK_VERSION', JSON.parse(readFileSync('sdk/package.json', 'utf8')).version),
    constant('BASE_PATH', BASE_PATH, 'In front of every path; part of what is signed.'),
    constant('CATALOGUE_LIMIT_MAX', CATALOGUE_LIMIT_MAX),
    constant('ORDERS_LIMIT_MAX', ORDERS_LIMIT_MAX),
    constant('WEBHOOK_RECEIVER_TOLERANCE_S', WEBHOOK_RECEIVER_TOLERANCE_S),
    `export const EVENT_ID_FORM = ${EVENT_ID_FORM}`,
    `export const KEY_ID_FORM = ${KEY_ID_FORM}`,
    `export const SIGNATURE_FORM = ${SIGNATURE_FORM}`,
    `export const TIMESTAMP_FORM = ${TIMESTAMP_FORM}`,
    constant('requestHeaders', requestHeaders),
    constant('webhookHeaders', webhookHeaders),
    constant('routes', Object.fromEntries(routes.map((route) => [route.name, routeFacts(route)]))),
    constant(
      'errorTypes',
      Object.fromEntries(Object.entries(errorTypes).map(([type, facts]) => [type, errorFacts(facts)])),
      'Every `error.type`, its status, and whether the same request may be sent again under a fresh signature.',
    ),
    constant(
      'orderVerdicts',
      orderVerdicts(),
      'Refusals of an order that are given after its idempotency key was looked up: nothing was bought under that key.',
    ),
  ])
}

function constant(name: string, value: unknown, comment = ''): string {
  const isTable = typeof value === 'object'
  return `${doc(comment)}export const ${name} = ${JSON.stringify(value)}${isTable ? ' as const' : ''}`
}

function routeFacts({ method, path, scope, responses }: (typeof routes)[number]) {
  const [success] = Object.values(responses) as { required?: readonly string[] }[]
  return { method, path, isSigned: scope !== null, answers: success?.required ?? [] }
}

function errorFacts({ status, retry }: (typeof errorTypes)[keyof typeof errorTypes]) {
  return { status, retry }
}

/** What an order can meet and a look at the orders cannot: only the purchase itself answers so. */
function orderVerdicts(): string[] {
  const general: readonly string[] = routeNamed('getOrders').errors
  return routeNamed('postOrders').errors.filter((type) => !general.includes(type))
}

function query(document: Document, path: string): Schema {
  const parameters = document.paths[path]?.get?.parameters ?? []
  const named = parameters.filter(({ in: place }) => place === 'query')
  return {
    description: `Filters and page of GET ${path}.`,
    type: 'object',
    properties: Object.fromEntries(
      named.map(({ name = '', description = '', schema = {} }) => [name, { ...schema, description }]),
    ),
  }
}

function declaration(name: string, schema: Schema): string {
  const keyword = schema.properties ? `interface ${name}` : `type ${name} =`
  return `${doc(schema.description)}export ${keyword} ${typeText(schema)}`
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' | ')
  if (schema.properties) return objectText(schema)
  if (schema.items) return `(${typeText(schema.items)})[]`
  return [schema.type ?? 'unknown'].flat().map(plainText).join(' | ')
}

function objectText({ properties = {}, required = [] }: Schema): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name)
    // Callers read options from variables that may be undefined; with exactOptionalPropertyTypes they could not pass them.
    return `${doc(schema.description)}${name}${isRequired ? '' : '?'}: ${typeText(schema)}${isRequired ? '' : ' | undefined'}`
  })
  return `{\n${members.join('\n')}\n}`
}

function plainText(type: string): string {
  return type === 'integer' ? 'number' : type
}

function doc(text = ''): string {
  return text === '' ? '' : `/** ${text.replaceAll('*/', '* /')} */\n`
}

function format(parts: readonly string[]): string {
  const args = ['node_modules/@biomejs/biome/bin/biome', 'format', '--stdin-file-path=sdk/src/types.ts']
  return execFileSync(process.execPath, args, { input: parts.join('\n\n'), encoding: 'utf8' })
}
