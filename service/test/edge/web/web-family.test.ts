import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readWebFolder } from '../../../src/edge/web/web-files.ts'
import { openDashboard, refusalOf, type TestDashboard } from '../../../testing/dashboard.ts'
import { ask, requestBytes } from '../../../testing/raw-http.ts'

const PAGE = '<!doctype html><title>Dashboard</title>'
const SCRIPT = 'console.log("hello")'
let dashboard: TestDashboard
let folder: string
let pictureOrigins: string[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'web-'))
  mkdirSync(join(folder, 'assets'))
  const write = (name: string, bytes: string | Buffer) => writeFileSync(join(folder, name), bytes)
  write('index.html', PAGE)
  write('index.html.br', brotliCompressSync(PAGE))
  write('assets/index-B3f9.js', SCRIPT)
  write('assets/index-B3f9.js.br', brotliCompressSync(SCRIPT))
  write('assets/index-B3f9.js.gz', gzipSync(SCRIPT))
  write('assets/index-B3f9.js.map', '{}')
  write('assets/inter.woff2', Buffer.from([1, 2, 3]))
  write('favicon.svg', '<svg/>')
  dashboard = await openDashboard({
    table: [],
    handlers: () => ({}),
    files: readWebFolder(folder),
    pictureOrigins: () => pictureOrigins,
  })
  rmSync(folder, { recursive: true })
})
afterAll(() => dashboard.close())

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(dashboard.port, requestBytes(method, path, headers), { isHead: method === 'HEAD' })

describe('pages', () => {
  test.each(['/', '/orders', '/orders/ord_1?tab=events', '/sign-in/company', '/apis', '//evil'])(
    '%s is the application, revalidated each time',
    async (path) => {
      const answer = await get(path)
      expect([answer.status, answer.body]).toEqual([200, PAGE])
      expect(answer.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        vary: 'Accept-Encoding',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'permissions-policy': expect.stringContaining('publickey-credentials-get=(self)'),
        'strict-transport-security': expect.stringContaining('max-age='),
      })
      const same = await get(path, { 'If-None-Match': answer.headers.etag ?? '' })
      expect([same.status, same.body]).toEqual([304, ''])
    },
  )
  test('the policy allows no inline script, no other host and no HTML from text', async () => {
    const policy = (await get('/')).headers['content-security-policy'] ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|nonce|script-src [^;]*(https:|data:)/)
  })
  test('pictures may come from the hosts of the catalogue and from no other, and a new host reaches a page that is known already', async () => {
    const sources = async () =>
      /img-src ([^;]*)/.exec((await get('/')).headers['content-security-policy'] ?? '')?.[1]
    expect(await sources()).toBe("'self' data:")
    const { etag = '' } = (await get('/')).headers
    pictureOrigins = ['https://CDN.shop.example', 'https://media.example:8443', 'https://cdn.shop.example']
    expect(await sources()).toBe("'self' data: https://cdn.shop.example https://media.example:8443")
    expect((await get('/', { 'If-None-Match': etag })).status).toBe(200)
    pictureOrigins = Array.from({ length: 50 }, (_, n) => `https://${n}.example`)
    expect((await sources())?.split(' ').filter((one) => one.startsWith('https:'))).toHaveLength(20)
    pictureOrigins = []
  })
  test.each([
    'https://*',
    'https://a.example;script-src',
    "https://'none'",
    'https://a,b',
    'http://a.example',
    'data:x',
    'https:',
  ])('the policy does not take %s from the catalogue', async (origin) => {
    pictureOrigins = [origin]
    const policy = (await get('/')).headers['content-security-policy'] ?? ''
    pictureOrigins = []
    expect(policy).toBe((await get('/')).headers['content-security-policy'])
  })
  test('HEAD has the headers alone; other methods are not offered', async () => {
    const answer = await get('/', {}, 'HEAD')
    expect([answer.status, answer.body, answer.headers['content-length']]).toEqual([
      200,
      '',
      String(PAGE.length),
    ])
    expect((await get('/', {}, 'POST')).status).toBe(405)
  })
})

describe('files', () => {
  test('those with a hash in their name are kept for a year', async () => {
    const answer = await get('/assets/index-B3f9.js')
    expect([answer.status, answer.body]).toEqual([200, SCRIPT])
    expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect((await get('/assets/inter.woff2')).headers['content-type']).toBe('font/woff2')
    expect((await get('/favicon.svg')).headers['cache-control']).toBe('no-cache')
  })
  test('are sent as the build compressed them, where the browser takes it', async () => {
    const url = `http://127.0.0.1:${dashboard.port}/assets/index-B3f9.js`
    for (const [taken, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['identity', null],
    ] as const) {
      const answer = await fetch(url, { headers: { 'accept-encoding': taken } })
      expect([taken, answer.headers.get('content-encoding'), await answer.text()]).toEqual([
        taken,
        encoding,
        SCRIPT,
      ])
      expect(answer.headers.get('vary')).toBe('Accept-Encoding')
    }
    expect(brotliDecompressSync(brotliCompressSync(SCRIPT)).toString()).toBe(SCRIPT)
  })
  test.each([
    '/assets/missing.js',
    '/assets/index-B3f9.js.map',
    '/assets/index-B3f9.js.br',
    '/../package.json',
    '/assets/../../etc/passwd.txt',
    '/assets/%2e%2e/index.js',
    '/.env',
  ])('%s is not there: 404, never the page', async (path) => {
    const answer = await get(path)
    expect([answer.status, refusalOf(answer)]).toEqual([404, 'not_found'])
  })
})

test('paths below /api are never the page', async () => {
  for (const path of ['/api', '/api/', '/api/orders']) {
    const answer = await get(path)
    expect([answer.status, refusalOf(answer)]).toEqual([404, 'not_found'])
  }
})
