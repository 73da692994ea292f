import { BASE_PATH } from '@shopwire/contract'
import { openApiDocument } from '@shopwire/contract/published'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export interface Exchanged {
  readonly method: string
  /** As on the request line. */
  readonly target: string
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * What an answer has that the OpenAPI document does not list, or lacks that it promises; undefined when it is as documented.
 * Objects in the document are closed, so an unknown field is a fault.
 */
export function undocumented(exchanged: Exchanged): string | undefined {
  const { method, target, status, headers, body } = exchanged
  const response = responseFor(method, target, status)
  if (response === null) return undefined
  if (response === undefined) return `${method} ${target}: the status ${status} is not documented`
  const fault = headerFault(response, headers) ?? bodyFault(response, body)
  return fault && `${method} ${target}: ${status} ${fault}`
}

interface Response {
  readonly headers: ReadonlyMap<string, { isRequired: boolean; isValid: ValidateFunction }>
  /** Undefined when the answer has no body. */
  readonly isValid: ValidateFunction | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: a document is walked, not typed
const document = openApiDocument() as any
const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false })
ajv.addSchema(document, 'openapi')

/** Compiled once per operation and status, so that a load can be checked answer by answer. */
const known = new Map<string, Response | undefined>()

/** Null for a path outside the contract that is not 404 or 405: a public file, say. */
function responseFor(method: string, target: string, status: number): Response | null | undefined {
  const [path = ''] = target.split('?')
  const isOurs = path.startsWith(`${BASE_PATH}/`)
  const template = isOurs ? templateFor(path.slice(BASE_PATH.length)) : undefined
  const isMatched = template !== undefined && document.paths[template][method.toLowerCase()] !== undefined
  if (!isOurs && document['x-unmatched'][status] === undefined) return null
  const pointer = isMatched
    ? `/paths/${escaped(template)}/${method.toLowerCase()}/responses/${status}`
    : `/x-unmatched/${status}`
  if (!known.has(pointer)) known.set(pointer, compile(pointer))
  return known.get(pointer)
}

function templateFor(path: string): string | undefined {
  if (path in document.paths) return path
  const template = path.replace(/\/[^/]+$/, '/{id}')
  return template in document.paths ? template : undefined
}

function compile(pointer: string): Response | undefined {
  const place = follow(pointer)
  if (place === undefined) return undefined
  const { headers = {}, content } = at(place)
  const compiled = Object.keys(headers).map((name) => {
    const header = follow(`${place}/headers/${escaped(name)}`) ?? ''
    const isValid = ajv.compile({ $ref: `openapi#${header}/schema` })
    return [name.toLowerCase(), { isRequired: at(header).required === true, isValid }] as const
  })
  const schema = `openapi#${place}/content/application~1json/schema`
  return { headers: new Map(compiled), isValid: content ? ajv.compile({ $ref: schema }) : undefined }
}

/** What HTTP itself puts on an answer, and nginx its name. */
const transport = new Set(['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'server'])

function headerFault({ headers: listed }: Response, found: Exchanged['headers']): string | undefined {
  for (const name of Object.keys(found)) {
    if (!transport.has(name) && !listed.has(name)) return `has an undocumented header ${name}`
  }
  for (const [name, { isRequired, isValid }] of listed) {
    const value = found[name]
    if (value === undefined && isRequired) return `lacks the header ${name}`
    if (value !== undefined && !isValid(value))
      return `has ${name}: ${value}, which ${ajv.errorsText(isValid.errors)}`
  }
  return undefined
}

function bodyFault({ isValid }: Response, body: unknown): string | undefined {
  if (isValid === undefined) return body === undefined ? undefined : 'has a body'
  return isValid(body) ? undefined : `has a body that is not as documented: ${ajv.errorsText(isValid.errors)}`
}

/** The pointer itself, or where a reference there leads; undefined when nothing is there. */
function follow(pointer: string): string | undefined {
  const found = at(pointer)
  return found?.$ref === undefined ? found && pointer : follow(found.$ref.slice(1))
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function at(pointer: string): any {
  const steps = pointer.split('/').slice(1)
  return steps.reduce((value, step) => value?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], document)
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}
