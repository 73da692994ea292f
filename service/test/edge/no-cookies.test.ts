import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BASE_PATH, type Route, routes } from '@shopwire/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ownFiles, readPublicFolder } from '../../src/edge/public/public-files.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

/**
 * Threat 66: cookies are the dashboard's alone. The API and the documentation set none and read none, so a page of another site cannot
 * use somebody's session with them.
 */
const folder = mkdtempSync(join(tmpdir(), 'shopwire-docs-'))
const COOKIE = `__Host-shopwire-session=${'x'.repeat(43)}`

let shop: Shop
/** The targets of the requests whose Cookie header was read. */
let cookieReads: string[] = []

beforeAll(async () => {
  writeFileSync(join(folder, 'index.html'), '<p>Documentation</p>')
  shop = await openShop({
    limits: { requestsMax: 1_000, ordersMax: 1_000 },
    publicFiles: new Map([...ownFiles(), ...readPublicFolder(folder, '/docs', () => ({}))]),
    around: (serve) => (request, response) => {
      watchCookie(request)
      serve(request, response)
    },
  })
})
afterAll(async () => {
  await shop.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  cookieReads = []
})

function watchCookie(request: IncomingMessage) {
  const { cookie: sent } = request.headers
  Object.defineProperty(request.headers, 'cookie', {
    enumerable: true,
    configurable: true,
    get() {
      cookieReads.push(request.url ?? '')
      return sent
    },
  })
}

function send(method: string, target: string, headers: Record<string, string>, body?: string) {
  return fetch(`http://127.0.0.1:${shop.port}${target}`, {
    method,
    headers: { ...headers, cookie: COOKIE },
    redirect: 'manual',
    ...(body !== undefined && { body }),
  })
}

describe('every route of the API: signed, unsigned and as a browser with a session would send it', () => {
  test.each((routes as readonly Route[]).map((route) => [route.name, route] as const))(
    '%s',
    async (_name, route) => {
      const target = BASE_PATH + route.path.replace(/\{\w+\}/, 'x')
      const body = route.method === 'POST' ? '{}' : undefined
      const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
      const signed = signedHeaders(shop.key, route.method, target, Buffer.from(body ?? ''))
      for (const headers of [
        signed,
        {},
        { origin: 'https://dashboard.example', 'sec-fetch-site': 'cross-site' },
      ]) {
        const answer = await send(route.method, target, { ...json, ...headers }, body)
        expect(answer.headers.getSetCookie()).toEqual([])
        expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
        // The cookie stands for nobody.
        if (route.scope !== null && headers !== signed) expect(answer.status).toBe(401)
      }
      expect(cookieReads).toEqual([])
    },
  )
})

test('pages of the documentation, and paths that do not exist', async () => {
  for (const path of ['/docs/', '/docs/index.html', '/openapi.json', '/', '/api/session', '/docs/nothing']) {
    const answer = await send('GET', path, {})
    expect([path, answer.headers.getSetCookie()]).toEqual([path, []])
  }
  expect((await send('GET', '/docs/', {})).status).toBe(200)
  expect(cookieReads).toEqual([])
})
