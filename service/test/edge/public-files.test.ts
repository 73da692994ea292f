import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { PUBLIC_FILES_PER_WINDOW_MAX } from '@shopwire/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  assertOutsideContract,
  ownFiles,
  publicFile,
  readPublicFolder,
} from '../../src/edge/public/public-files.ts'
import { ask, openLine, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

const committed = readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'shopwire-files-'))

let shop: Shop
let nowMs = Date.now()
beforeAll(async () => {
  mkdirSync(join(folder, 'errors'))
  writeFileSync(join(folder, 'index.html'), '<p>Hello</p>')
  writeFileSync(join(folder, 'errors', 'not_found.html'), '<p>Not there</p>')
  writeFileSync(join(folder, 'logo.png'), Buffer.from([137, 80, 78, 71]))
  const portal = readPublicFolder(folder, '/docs', () => ({
    'content-security-policy': "default-src 'self'",
  }))
  shop = await openShop({
    clock: { nowMs: () => nowMs },
    publicFiles: new Map([...ownFiles(), ...portal]),
  })
})
afterAll(async () => {
  await shop.close()
  rmSync(folder, { recursive: true })
})
// A new minute for every test.
beforeEach(() => {
  nowMs += 60_000
})

const get = (target: string, headers = {}) => ask(shop.port, requestBytes('GET', target, headers))

/** By fetch, which decodes the content encoding. */
async function getBytes(target: string, encoding: string) {
  const response = await fetch(`http://127.0.0.1:${shop.port}${target}`, {
    headers: { 'accept-encoding': encoding },
  })
  return { headers: response.headers, text: await response.text() }
}

describe('/openapi.json', () => {
  test('is the committed document, without authentication', async () => {
    const answer = await get('/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.body).toBe(committed)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    })
    expect(answer.headers['x-request-id']).toMatch(/^req_/)
    expect(answer.headers.ratelimit).toBeUndefined()
  })

  test('signature headers, valid or not, are ignored, and nothing is counted', async () => {
    const signed = signedHeaders(shop.key, 'GET', '/openapi.json')
    expect((await get('/openapi.json', signed)).status).toBe(200)
    expect((await get('/openapi.json', { ...signed, 'X-Api-Signature': 'f' })).status).toBe(200)
    const ping = await shop.call('GET', '/v1/ping', { nowMs })
    expect(ping.headers.get('ratelimit')).toContain('"req";r=119')
  })

  test('returns 304 for any spelling of its entity tag', async () => {
    const etag = (await get('/openapi.json')).headers.etag ?? ''
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await get('/openapi.json', { 'If-None-Match': known })
      expect([answer.status, answer.body, answer.headers.etag]).toEqual([304, '', etag])
    }
    expect((await get('/openapi.json', { 'If-None-Match': '"other"' })).status).toBe(200)
  })

  test.each(['br', 'gzip'])(
    'is compressed for Accept-Encoding %s, with a separate entity tag',
    async (encoding) => {
      const plain = (await get('/openapi.json')).headers.etag
      const { headers, text } = await getBytes('/openapi.json', `x, ${encoding};q=0.5`)
      expect(headers.get('content-encoding')).toBe(encoding)
      expect(headers.get('etag')).not.toBe(plain)
      expect(text).toBe(committed)
    },
  )

  test('is not compressed without an Accept-Encoding that allows it', async () => {
    for (const encoding of ['identity', 'br;q=0, gzip;q=0.0', 'zstd']) {
      expect((await getBytes('/openapi.json', encoding)).headers.get('content-encoding')).toBeNull()
    }
  })

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('%s: 405 with Allow', async (method) => {
    const answer = await ask(shop.port, requestBytes(method, '/openapi.json'))
    expectRefusal(answer, 'method_not_allowed')
    expect(answer.headers.allow).toBe('GET')
  })

  test('HEAD: 405 with Allow', async () => {
    const answer = await ask(shop.port, requestBytes('HEAD', '/openapi.json'), { isHead: true })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET'])
  })

  test('a body is refused, and the connection ends', async () => {
    const answer = await ask(
      shop.port,
      requestBytes('GET', '/openapi.json', { 'Content-Length': '5' }, 'hel'),
    )
    expectRefusal(answer, 'invalid_request')
    expect(answer.headers.connection).toBe('close')
  })

  test('a query is ignored', async () => {
    expect((await get('/openapi.json?v=2')).status).toBe(200)
  })
})

describe('a folder of files', () => {
  test('pages are served at their names, with and without .html, and an index at its folder', async () => {
    for (const path of ['/docs', '/docs/', '/docs/index.html']) {
      const answer = await get(path)
      expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([
        200,
        '<p>Hello</p>',
        'text/html; charset=utf-8',
      ])
      expect(answer.headers['content-security-policy']).toBe("default-src 'self'")
    }
    expect((await get('/docs/errors/not_found')).body).toBe('<p>Not there</p>')
    expect((await get('/docs/logo.png')).headers['content-type']).toBe('image/png')
  })

  test.each([
    '/docs/../openapi.json',
    '/docs/errors/../index.html',
    '/docs/%2e%2e/openapi.json',
    '/docs/..%2findex.html',
    '/docs//index.html',
    '/docs/./index.html',
    '/docs/index%2Ehtml',
    '/Docs/index.html',
    '/docs/errors',
    '/docs/errors/',
    '/docs/index.html/',
    '/docs/../../etc/passwd',
    '//openapi.json',
    '/openapi.json/',
    '/openapi.JSON',
    '/v1/openapi.json',
    '/__proto__',
    '/constructor',
  ])('%s: 404, only listed names are served', async (path) => {
    expectRefusal(await get(path), 'not_found')
  })

  test('a file added to the folder later is not served', async () => {
    writeFileSync(join(folder, 'later.txt'), 'later')
    expectRefusal(await get('/docs/later.txt'), 'not_found')
    rmSync(join(folder, 'later.txt'))
  })

  test('a file of an unknown type fails the start', () => {
    writeFileSync(join(folder, 'secrets.env'), 'x')
    expect(() => readPublicFolder(folder, '/docs')).toThrow('secrets.env')
    rmSync(join(folder, 'secrets.env'))
  })
})

test('a file cannot replace a path of the contract', () => {
  const publicFiles = new Map([['/v1/status', publicFile(Buffer.from('x'), 'text/plain')]])
  expect(() => assertOutsideContract(publicFiles)).toThrow('outside /v1')
})

test('compressed forms hold the same bytes', () => {
  const [br, gzip, plain] = ownFiles().get('/openapi.json')?.forms ?? []
  expect(brotliDecompressSync(br?.bytes ?? '').toString()).toBe(committed)
  expect(gunzipSync(gzip?.bytes ?? '').toString()).toBe(committed)
  expect(plain?.bytes.toString()).toBe(committed)
})

test('one address is limited, and /status still answers it', async () => {
  const line = await openLine(shop.port)
  const request = requestBytes('GET', '/docs/logo.png')
  for (let n = 0; n < PUBLIC_FILES_PER_WINDOW_MAX; n += 1) {
    line.send(request)
    expect((await line.next())?.status).toBe(200)
  }
  line.send(request)
  const refused = await line.next()
  expectRefusal(refused, 'rate_limited')
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1)
  line.send(requestBytes('GET', '/v1/status'))
  expect((await line.next())?.status).toBe(200)
  line.close()
})
