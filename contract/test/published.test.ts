import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import vm from 'node:vm'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { type ErrorType, errorTypes, type Route, routes, type SchemaName, schemas } from '../src/index.ts'
import { examples } from '../src/published/examples.ts'
import { type Json, openApiDocument, openApiText, postmanText } from '../src/published/index.ts'
import * as samples from './samples.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document is walked, not typed
const document = openApiDocument() as any
const ajv = new Ajv2020({ strict: false, validateSchema: false, formats: { 'date-time': true, uri: true } })
ajv.addSchema(document, 'openapi')

const accepts = (pointer: string, value: unknown) => {
  const validate = ajv.getSchema(`openapi#${pointer}`)
  if (!validate) throw new Error(`nothing at ${pointer}`)
  return validate(value)
}
const escaped = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')
const at = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .reduce((value, step) => value[step.replaceAll('~1', '/').replaceAll('~0', '~')], document)

/** Every object of the document with its place. */
function* walk(value: unknown, place = ''): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [place, value as Json]
  for (const [name, one] of Object.entries(value)) yield* walk(one, `${place}/${escaped(name)}`)
}
const places = [...walk(document)]

describe('the OpenAPI document', () => {
  test('the operations are exactly the routes, under their names', () => {
    const paths = document.paths as Record<string, Record<string, { operationId: string }>>
    const found = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, method.toUpperCase(), path]),
    )
    const expected = routes.map(({ name, method, path }) => [name as string, method as string, path])
    expect(found.sort()).toEqual([...expected, ['headStatus', 'HEAD', '/status']].sort())
  })

  test('HEAD answers with the statuses and headers of GET, and never with a body', () => {
    const { get, head } = document.paths['/status']
    expect(Object.keys(head.responses)).toEqual(Object.keys(get.responses))
    for (const [status, response] of Object.entries<Json>(head.responses)) {
      const asked = get.responses[status]
      expect(response.content).toBeUndefined()
      expect(response.headers).toEqual((asked.$ref ? at(asked.$ref.slice(1)) : asked).headers)
    }
  })

  test('every reference resolves', () => {
    for (const [place, { $ref }] of places) {
      if (typeof $ref === 'string') expect(at($ref.slice(1)), place).toBeDefined()
    }
  })

  test.each(routes as readonly Route[])('$name lists exactly its own statuses and error types', (route) => {
    const { responses } = document.paths[route.path][route.method.toLowerCase()]
    const statuses = route.errors.map((type) => errorTypes[type].status)
    expect(new Set(Object.keys(responses).map(Number))).toEqual(
      new Set([...Object.keys(route.responses).map(Number), ...statuses]),
    )
    for (const status of new Set(statuses)) {
      const response = responses[status].$ref ? at(responses[status].$ref.slice(1)) : responses[status]
      const place = responses[status].$ref
        ? responses[status].$ref.slice(1)
        : `/paths/${escaped(route.path)}/${route.method.toLowerCase()}/responses/${status}`
      const types = route.errors.filter((type) => errorTypes[type].status === status)
      expect(Object.keys(response.content['application/json'].examples)).toEqual(types)
      for (const type of Object.keys(errorTypes)) {
        const body = { error: { type, message: 'x' } }
        const isListed = types.includes(type as ErrorType)
        expect(accepts(`${place}/content/application~1json/schema`, body), `${status} ${type}`).toBe(isListed)
      }
    }
  })

  test('every example is valid under its schema', () => {
    let count = 0
    for (const [place, { schema, examples: shown }] of places) {
      if (!schema || !shown) continue
      for (const [name, one] of Object.entries(shown as Record<string, Json>)) {
        const { value } = typeof one.$ref === 'string' ? at(one.$ref.slice(1)) : one
        expect(accepts(`${place}/schema`, value), `${place} ${name}`).toBe(true)
        count += 1
      }
    }
    expect(count).toBeGreaterThan(50)
    for (const [name, { examples: shown }] of Object.entries(
      document.components.schemas as Record<string, { examples: unknown[] }>,
    )) {
      for (const one of shown) expect(accepts(`/components/schemas/${name}`, one), name).toBe(true)
    }
  })

  test('every error type has an example', () => {
    expect(Object.keys(document.components.examples)).toEqual(Object.keys(errorTypes))
  })

  const published = (name: SchemaName) => name in document.components.schemas

  test('every schema is published except the queries, which are parameters', () => {
    const names = Object.keys(schemas).filter((name) => !published(name as SchemaName))
    expect(names).toEqual(['CatalogueQuery', 'OrdersQuery'])
  })

  test.each(samples.refused.filter(({ schema }) => published(schema)))(
    '$schema, as published, refuses $why',
    ({ schema, value }) => {
      expect(accepts(`/components/schemas/${schema}`, value)).toBe(false)
    },
  )

  test.each(samples.accepted.filter(({ schema }) => published(schema)))(
    '$schema, as published, accepts $why',
    ({ schema, value }) => {
      expect(accepts(`/components/schemas/${schema}`, value)).toBe(true)
    },
  )

  test('an unknown property is refused, as in the contract', () => {
    for (const name of Object.keys(document.components.schemas) as SchemaName[]) {
      const more = { ...examples[name], surprise: 1 }
      expect(accepts(`/components/schemas/${name}`, more), name).toBe(false)
    }
  })

  test('every field and every operation is described', () => {
    for (const [name, { description, properties = {} }] of Object.entries(
      document.components.schemas as Record<string, { description: string; properties?: Json }>,
    )) {
      expect(description, name).toMatch(/\.$/)
      for (const [field, one] of Object.entries(properties)) {
        expect((one as Json).description, `${name}.${field}`).toMatch(/\.$/)
      }
    }
    for (const [place, { description }] of places.filter(([one]) => /\/responses\/\d+$/.test(one))) {
      if (description !== undefined) expect(description, place).not.toBe('')
    }
  })

  test('there is a webhook for every event, with its signature headers', () => {
    expect(Object.keys(document.webhooks).sort()).toEqual([
      'catalogue.changed',
      'order.accepted',
      'order.cancelled',
      'order.delivered',
      'test',
    ])
    for (const { post } of Object.values(document.webhooks) as { post: { parameters: unknown[] } }[]) {
      expect(post.parameters).toHaveLength(4)
    }
  })

  test('the document is deterministic', () => {
    expect(openApiText()).toBe(openApiText())
    expect(JSON.parse(openApiText())).toEqual(document)
  })
})

describe('the Postman collection', () => {
  const collection = JSON.parse(postmanText())
  const require = createRequire(import.meta.url)
  const signing = collection.event[0].script.exec.join('\n')
  const items = collection.item.flatMap(({ item }: { item: object[] }) => item)

  type Request = {
    method: string
    url: string
    body?: string
    variables?: Record<string, string>
    nowS?: number
  }

  /** The parts of Postman's API that the script uses, with a fixed time and fixed random values. */
  function run(script: string, { method, url, body, variables = {}, nowS = 1_794_700_000 }: Request) {
    const headers: Record<string, string> = {}
    const CryptoJS = require('crypto-js')
    const random = (bytes: number) =>
      CryptoJS.lib.WordArray.create([0x00112233, 0x44556677, 0x8899aabb, 0xccddeeff], bytes)
    const pm = {
      variables: {
        get: (name: string) => variables[name],
        replaceIn: (text: string) =>
          text.replace(/\{\{(\w+)\}\}/g, (whole, name) => variables[name] ?? whole),
      },
      request: {
        method,
        url: { toString: () => url },
        body: body === undefined ? undefined : { mode: 'raw', raw: body },
        headers: {
          upsert({ key, value }: { key: string; value: string }) {
            headers[key] = value
          },
        },
      },
    }
    const fixed = { ...CryptoJS, lib: { ...CryptoJS.lib, WordArray: { ...CryptoJS.lib.WordArray, random } } }
    // newman and older versions of Postman declare a variable of this name.
    vm.runInNewContext(`const CryptoJS = {}\n${script}`, {
      pm,
      require: () => fixed,
      Date: { now: () => nowS * 1000 },
    })
    return headers
  }

  const vectors = (
    JSON.parse(readFileSync(join(import.meta.dirname, '../vectors/request-signing.json'), 'utf8')) as {
      cases: { [name: string]: string }[]
    }
  ).cases
    // Only vectors that Postman can send: text bodies, targets it does not escape, and the fixed nonce and time.
    .filter(({ target = '' }) => /^[\x21\x24-\x26\x28-\x3b\x3d\x3f-\x5f\x61-\x7a\x7c\x7e]*$/.test(target))
    .filter(
      ({ nonce, body_utf8, method }) =>
        nonce === '00112233445566778899aabbccddeeff' &&
        body_utf8 !== undefined &&
        method === method?.toUpperCase(),
    )

  test('there are vectors to compare with', () => {
    expect(vectors.length).toBeGreaterThan(50)
  })

  test.each(vectors)('the script signs $name as openssl does', (one) => {
    const headers = run(signing, {
      method: one.method ?? '',
      url: `https://shop.example${one.target}`,
      ...(one.body_utf8 && { body: one.body_utf8 }),
      nowS: Number(one.timestamp),
      variables: { key_id: 'key_c1_x', secret: one.secret ?? '' },
    })
    expect(headers).toEqual({
      'X-Api-Key': 'key_c1_x',
      'X-Api-Timestamp': one.timestamp,
      'X-Api-Nonce': one.nonce,
      'X-Api-Signature': one.signature,
    })
  })

  test('variables are resolved before signing, and characters that Postman escapes are signed escaped', () => {
    const variables = { base_url: 'https://shop.example/v1', key_id: 'k', secret: 's', name: "blå 'hat'" }
    const filled = run(signing, { method: 'GET', url: '{{base_url}}/catalogue?search={{name}}', variables })
    const plain = run(signing, {
      method: 'GET',
      url: 'https://shop.example/v1/catalogue?search=bl%C3%A5%20%27hat%27',
      variables,
    })
    expect(filled).toEqual(plain)
  })

  test('the public request is unsigned and needs no secret; the others name the missing variables', () => {
    const url = (path: string) => `http://127.0.0.1:8080/v1${path}`
    expect(run(signing, { method: 'GET', url: url('/status') })).toEqual({})
    expect(() => run(signing, { method: 'GET', url: url('/ping') })).toThrow('key_id and secret')
  })

  test('a dynamic variable is refused, because it changes between signing and sending', () => {
    expect(() => run(signing, { method: 'POST', url: 'http://x/v1/quote', body: '{{$guid}}' })).toThrow(
      'dynamic',
    )
  })

  test('the collection has every route and no secret', () => {
    const found = items.map(({ request }: { request: { method: string } }) => request.method)
    expect(found).toHaveLength(routes.length)
    const secret = collection.variable.find(({ key }: { key: string }) => key === 'secret')
    expect(secret).toMatchObject({ type: 'secret', value: '' })
  })

  test('the request that buys warns that it spends money and needs an idempotency key', () => {
    const buys = items.find(
      ({ request }: { request: { method: string; url: { raw: string } } }) =>
        request.method === 'POST' && request.url.raw.endsWith('/orders'),
    )
    expect(buys.request.description).toContain('SPENDS REAL MONEY')
    expect(buys.request.body.raw).toContain('{{idempotency_key}}')
    const guard = buys.event[0].script.exec.join('\n')
    expect(() => run(guard, { method: 'POST', url: '' })).toThrow('real money')
    expect(run(guard, { method: 'POST', url: '', variables: { idempotency_key: 'mine-0001' } })).toEqual({})
  })
})
