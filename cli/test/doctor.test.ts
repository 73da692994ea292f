import { execFile } from 'node:child_process'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MISTAKES } from '@shopwire/contract/signature-mistakes'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkBaseUrl, keyFormProblem } from '../src/doctor/forms.ts'
import { parseRequest } from '../src/doctor/recorded-request.ts'
import { emulatedStore, envOf, folder, shopwire } from './support.ts'

const KEY = 'key_c1_01k9zq3v7m8n4p2r6s0t5w1x9y'
const SECRET = `sk_${'A1b2'.repeat(10)}xyz`

describe('finds mistakes in the form of a key, without printing the secret', () => {
  test.each([
    ['a correct key', KEY, SECRET, undefined],
    ['swapped', SECRET, KEY, /swapped/],
    ['a line break at the end', KEY, `${SECRET}\n`, /line break/],
    ['a space at the end', KEY, `${SECRET} `, /spaces around/],
    ['double quotes', KEY, `"${SECRET}"`, /quotes/],
    ['single quotes', `'${KEY}'`, SECRET, /key id has quotes/],
    ['NAME= kept', KEY, `SHOPWIRE_API_SECRET=${SECRET}`, /NAME=/],
    ['export NAME= kept', KEY, `export SHOPWIRE_API_SECRET=${SECRET}`, /NAME=/],
    ['a written-out line break', KEY, `${SECRET}\\n`, /backslash/],
    ['an unexpanded variable', KEY, '$SHOPWIRE_API_SECRET', /variable/],
    ['a comment', KEY, `${SECRET} # live`, /comment/],
    ['Bearer', KEY, `Bearer ${SECRET}`, /scheme/],
    ['a placeholder', KEY, 'sk_xxxxxxxx', /placeholder/],
    ['a placeholder of the right length', KEY, `sk_${'x'.repeat(43)}`, /placeholder/],
    ['a placeholder for the key id', 'key_c1_xxxxxxxxxxxxxxxxxxxxxxxxxx', SECRET, /key id is a placeholder/],
    ['dots', KEY, 'sk_…', /placeholder/],
    ['an invisible character', KEY, `${SECRET}\u200b`, /none of ours|invisible/],
    ['a webhook secret', KEY, 'whsec_abcdef', /webhook/],
    ['cut off', KEY, SECRET.slice(0, 20), /20 characters/],
    ['empty', KEY, '', /empty/],
    ['a key id in upper case', KEY.toUpperCase().replace('KEY_C1', 'key_c1'), SECRET, /upper-case/],
    ['a secret twice', SECRET, SECRET, /key id is a secret/],
  ])('%s', (_name, keyId, secret, expected) => {
    const found = keyFormProblem(keyId, secret)
    if (expected === undefined) expect(found).toBeUndefined()
    else expect(found?.problem).toMatch(expected)
    if (found && secret.length > 12)
      expect(JSON.stringify([found.problem, found.fix])).not.toContain(SECRET.slice(3, 13))
  })

  test('reports nothing for generated keys, whatever their letters', () => {
    expect(keyFormProblem('key_c1_01k9zxxx7m8n4p2r6s0t5w1x9y', SECRET)).toBeUndefined()
    expect(keyFormProblem(KEY, `sk_your-XxX${SECRET.slice(11)}`)).toBeUndefined()
    for (let n = 0; n < 20_000; n += 1) {
      const secret = `sk_${randomBytes(32).toString('base64url')}`
      expect(keyFormProblem(KEY, secret), secret).toBeUndefined()
    }
  })

  test('the corrected value is the right one', () => {
    for (const broken of [
      `"${SECRET}"`,
      `${SECRET}\n`,
      ` ${SECRET}`,
      `SECRET=${SECRET}`,
      `${SECRET}\\n`,
      `${SECRET} # x`,
    ]) {
      expect(keyFormProblem(KEY, broken)?.cleaned).toEqual({ keyId: KEY, secret: SECRET })
    }
    expect(keyFormProblem(SECRET, KEY)?.cleaned).toEqual({ keyId: KEY, secret: SECRET })
  })
})

test.each([
  ['https://shop.example/v1', 'ok'],
  ['http://127.0.0.1:4010/v1', 'ok'],
  ['http://shop.example/v1', 'failed'],
  ['https://shop.example', 'failed'],
  ['https://shop.example/v1/orders', 'failed'],
  ['https://shop.example/v1?x=1', 'failed'],
  ['https://user@shop.example/v1', 'failed'],
  ['"https://shop.example/v1"', 'failed'],
  ['ftp://shop.example/v1', 'failed'],
  ['shop.example', 'failed'],
])('the base URL %s is %s', (url, status) => {
  expect(checkBaseUrl(url, false).status).toBe(status)
})

test('the http:// address of an emulator on another machine is a warning', () => {
  expect(checkBaseUrl('http://emulator:4010/v1', true).status).toBe('warning')
})

test('a password in a base URL is not repeated', () => {
  for (const url of [
    '"https://a:hunter2@shop.example/v1"',
    'https://a:hunter2@shop.example:x/v1',
    'a:hunter2@shop.example/v1',
  ])
    expect(JSON.stringify(checkBaseUrl(url, false))).not.toContain('hunter2')
})

test('suggests the corrected base URL when /v1 is missing or in capitals', () => {
  expect(checkBaseUrl('https://shop.example/', false).fix).toBe('Probably https://shop.example/v1.')
  expect(checkBaseUrl('https://shop.example/V1', false).fix).toBe('Probably https://shop.example/v1.')
})

describe('with a store', () => {
  const store = emulatedStore()

  async function doctor(extra: NodeJS.ProcessEnv = {}, ...args: string[]) {
    const { stdout, code, stderr } = await shopwire(['doctor', '--json', ...args], {
      env: { ...store.env, ...extra },
    })
    expect(stderr).toBe('')
    const { checks } = JSON.parse(stdout) as {
      checks: { name: string; status: string; detail: string; fix?: string }[]
    }
    return { code, checks, of: (name: string) => checks.find((one) => one.name === name) }
  }

  test('with a correct setup finds all scopes and changes neither balance nor webhook nor orders', async () => {
    const before = await store.emulator.control('GET', '/ledger')
    await store.emulator.control('POST', '/webhook', {
      url: `${store.emulator.url}/_emulator/inbox`.replace('//_', '/_'),
    })
    const { code, of } = await doctor()
    expect(code).toBe(0)
    expect(of('scopes')?.detail).toBe(
      'account:read catalogue:read orders:read orders:write webhooks:read webhooks:write',
    )
    expect(of('webhook')).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('inbox, 0 waiting, 0 given up'),
    })
    expect(of('limits')?.detail).toMatch(/\d+ requests and \d+ orders left/)
    expect(await store.emulator.control('GET', '/ledger')).toEqual(before)
    expect(await store.emulator.control('GET', '/deliveries')).toMatchObject({ deliveries: [] })
    expect(await store.emulator.control('GET', '/orders')).toMatchObject({ orders: [] })
    const text = await store.run('doctor')
    expect(text.stdout).toContain('✔ Everything is in order.')
    await store.emulator.control('POST', '/webhook', { url: null })
  })

  test.each([[['catalogue:read']], [['orders:write']], [['webhooks:write', 'account:read']]])(
    'lists exactly the scopes of a key with %j',
    async (scopes) => {
      const account = await store.emulator.createAccount({ scopes })
      const { code, of } = await doctor(envOf({ ...store.emulator, ...account }))
      expect(code).toBe(0)
      const [has] = of('scopes')?.detail.split(' · ') ?? []
      expect(has?.split(' ').sort()).toEqual([...scopes].sort())
    },
  )

  test('--read-only leaves the write scopes unknown', async () => {
    expect((await doctor({}, '--read-only')).of('scopes')?.detail).toContain(
      'unknown: orders:write webhooks:write',
    )
  })

  test('measures a wrong clock and still reports that the key is right', async () => {
    await store.emulator.arm({ name: 'clock_skew', ms: 90_000 } as never)
    const { code, of } = await doctor()
    await store.emulator.disarm()
    expect(code).toBe(1)
    expect(of('clock')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/(89|90|91) s behind the store, 60 are allowed/),
    })
    expect(of('signature')?.status).toBe('ok')
  })

  test('reports quotes around a secret and tries it without them', async () => {
    const { code, of } = await doctor({ SHOPWIRE_API_SECRET: `"${store.env.SHOPWIRE_API_SECRET}"` })
    expect(code).toBe(1)
    expect(of('key')?.detail).toBe('the secret has quotes around it')
    expect(of('signature')?.detail).toContain('accepted when corrected')
  })

  test('reports a wrong secret, a closed store, a closed port, and an unknown host name', async () => {
    expect((await doctor({ SHOPWIRE_API_SECRET: SECRET })).of('signature')?.status).toBe('failed')
    await store.emulator.arm({ name: 'store_closed' })
    await expect.poll(async () => (await doctor()).of('status')?.status).toBe('warning')
    await store.emulator.disarm()
    const refused = await doctor({ SHOPWIRE_BASE_URL: 'http://127.0.0.1:1/v1' })
    expect(refused.of('TCP')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('No server listens there'),
    })
    expect(refused.of('scopes')?.status).toBe('skipped')
    expect((await doctor({ SHOPWIRE_BASE_URL: 'https://no-such-host.invalid/v1' })).of('DNS')?.status).toBe(
      'failed',
    )
  })

  describe('behind a proxy that changes requests', () => {
    const rewriting: [name: string, prefix: string, change: (request: Passed) => Passed, said: RegExp][] = [
      [
        'the prefix is stripped',
        '/shop',
        (one) => ({ ...one, target: one.target.replace('/shop', '') }),
        /signature +refused for \/shop\/v1, .* a proxy removes \/shop from the path/,
      ],
      [
        'a header is dropped',
        '',
        (one) => ({ ...one, headers: { ...one.headers, 'x-api-nonce': undefined } }),
        /signature +refused: one of the four X-Api headers does not arrive/,
      ],
      [
        'the query is rewritten',
        '',
        (one) => ({ ...one, target: one.target.replaceAll('%20', '+') }),
        /proxy +a request with a query is refused, .* changes the query$/m,
      ],
      [
        'the body is rewritten',
        '',
        (one) => ({ ...one, body: one.body && JSON.stringify(JSON.parse(one.body)) }),
        /proxy +a request with a body is refused, .* changes the body$/m,
      ],
    ]
    test.each(rewriting)('%s: it says so, and advises no new key', async (_name, prefix, change, said) => {
      const proxy = await startRewritingProxy(store.emulator.url, change)
      const { stdout, code } = await shopwire(['doctor'], {
        env: { ...store.env, SHOPWIRE_BASE_URL: `${proxy}${prefix}/v1` },
      })
      expect(stdout).toMatch(said)
      expect(stdout).toMatch(/→ (A proxy|The path that is signed)/)
      expect(stdout).not.toMatch(/Everything is in order|revoke|new key/)
      expect(code).toBe(1)
    })
  })

  test('a key that is refused while the scopes are read is not in order', async () => {
    const account = await store.emulator.createAccount()
    const proxy = await startRewritingProxy(store.emulator.url, (one) =>
      one.target.startsWith('/v1/orders')
        ? { ...one, headers: { ...one.headers, 'x-api-nonce': undefined } }
        : one,
    )
    const env = { ...envOf({ ...store.emulator, ...account }), SHOPWIRE_BASE_URL: `${proxy}/v1` }
    const { stdout, code } = await shopwire(['doctor'], { env })
    expect(stdout).toMatch(/scopes +GET \/orders\?limit=1 was answered 401/)
    expect(code).toBe(1)
  })

  test('reports a server that is not a store, and one that redirects', async () => {
    const server = createServer((request, response) => {
      if (request.url?.startsWith('/moved'))
        response.writeHead(301, { location: 'https://elsewhere.example/' }).end()
      else response.end('<h1>hello</h1>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect((await doctor({ SHOPWIRE_BASE_URL: `${base}/v1` })).of('status')?.detail).toContain(
      'not like a store',
    )
    const secure = (await doctor({ SHOPWIRE_BASE_URL: `${base.replace('http', 'https')}/v1` })).of('TLS')
    expect(secure?.detail).toBe('The server speaks http, not https.')
    expect(secure?.fix).toContain(`${base}/v1`)
    expect((await doctor({ SHOPWIRE_BASE_URL: `${base}/moved/v1` })).of('status')?.detail).toContain(
      'redirects to https://elsewhere',
    )
    server.closeAllConnections()
    server.close()
  })
})

interface Passed {
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A proxy that passes requests on as `change` makes them, and answers unchanged. */
async function startRewritingProxy(to: string, change: (request: Passed) => Passed): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { 'content-length': _, ...headers } = request.headers
    const passed = change({ target: request.url ?? '', headers, body })
    const onward = httpRequest(to, {
      method: request.method ?? 'GET',
      path: passed.target,
      headers: Object.fromEntries(Object.entries(passed.headers).filter(([, value]) => value !== undefined)),
    })
    onward.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.end(passed.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('distinguishes a self-signed certificate from one for another name', async () => {
  const here = await folder()
  const [keyFile, certFile] = [join(here, 'key.pem'), join(here, 'cert.pem')]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', keyFile, '-out', certFile, '-days', '30'],
    ...['-subj', '/CN=other.example', '-addext', 'subjectAltName=DNS:other.example'],
  ])
  const server = createTlsServer(
    { key: await readFile(keyFile), cert: await readFile(certFile) },
    (_request, response) => {
      response.end('{}')
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const env = {
    SHOPWIRE_BASE_URL: `https://127.0.0.1:${port}/v1`,
    SHOPWIRE_API_KEY: KEY,
    SHOPWIRE_API_SECRET: SECRET,
  }
  const tls = async (extra: NodeJS.ProcessEnv) => {
    const { stdout, code } = await shopwire(['doctor'], { env: { ...env, ...extra } })
    expect(code).toBe(1)
    return /^.*TLS.*$/m.exec(stdout)?.[0]
  }
  expect(await tls({})).toMatch(/✖ TLS +the certificate is self-signed/)
  expect(await tls({ NODE_EXTRA_CA_CERTS: certFile })).toMatch(
    /✖ TLS +the certificate is for DNS:other.example, not for 127.0.0.1/,
  )
  expect(await tls({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toMatch(/✖ TLS +NODE_TLS_REJECT_UNAUTHORIZED=0/)
  server.closeAllConnections()
  server.close()
})

describe('doctor signature', () => {
  const env = {
    SHOPWIRE_BASE_URL: 'https://shop.example/v1',
    SHOPWIRE_API_KEY: KEY,
    SHOPWIRE_API_SECRET: SECRET,
  }
  const timestamp = '1794700000'
  const nonce = '00112233445566778899aabbccddeeff'
  const body = '{"items": [{"id": "123456789012345678"}]}'
  const target = '/v1/quote?b=2&a=1%20x'
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const hmac = (text: string, key: string | Buffer = SECRET) =>
    createHmac('sha256', key).update(text).digest('hex')
  const lines = (
    changed: Partial<Record<'method' | 'target' | 'timestamp' | 'nonce' | 'hash', string>> = {},
  ) => {
    const all = { method: 'POST', target, timestamp, nonce, hash: sha256(body), ...changed }
    return [all.method, all.target, all.timestamp, all.nonce, all.hash]
  }
  const text = (changed = {}) => lines(changed).join('\n')

  /** Common mistakes, made by hand, with the names that they must get. */
  const mistakes: [name: string, signature: string][] = [
    ['path_without_version', hmac(text({ target: '/quote?b=2&a=1%20x' }))],
    ['query_dropped', hmac(text({ target: '/v1/quote' }))],
    ['query_sorted', hmac(text({ target: '/v1/quote?a=1%20x&b=2' }))],
    ['path_full_url', hmac(text({ target: `https://shop.example${target}` }))],
    ['method_lower_case', hmac(text({ method: 'post' }))],
    ['body_not_hashed', hmac(text({ hash: body }))],
    ['body_reserialised', hmac(text({ hash: sha256(JSON.stringify(JSON.parse(body))) }))],
    ['body_empty', hmac(text({ hash: sha256('') }))],
    ['trailing_newline', hmac(`${text()}\n`)],
    ['separator_crlf', hmac(lines().join('\r\n'))],
    ['secret_base64_decoded', hmac(text(), Buffer.from(SECRET, 'base64'))],
    ['secret_prefix_dropped', hmac(text(), SECRET.slice(3))],
    ['key_id_as_secret', hmac(text(), KEY)],
    ['signature_upper_case', hmac(text()).toUpperCase()],
    ['signature_base64', Buffer.from(hmac(text()), 'hex').toString('base64')],
    ['signature_prefixed', `sha256=${hmac(text())}`],
    ['hash_upper_case', hmac(text({ hash: sha256(body).toUpperCase() }))],
    ['secret_hashed', hmac(text(), createHash('sha256').update(SECRET).digest())],
  ]

  async function explain(signature: string) {
    const args = [
      'doctor',
      'signature',
      '--method',
      'POST',
      '--path',
      target,
      '--timestamp',
      timestamp,
      '--nonce',
      nonce,
    ]
    const { stdout, code } = await shopwire([...args, '--signature', signature, '--body', body, '--json'], {
      env,
    })
    return { code, ...JSON.parse(stdout) }
  }

  test('names at least fifteen kinds of mistakes, each with its fix', async () => {
    const found = await Promise.all(
      mistakes.map(async ([name, signature]) => [name, (await explain(signature)).mistake] as const),
    )
    const named = found.filter(([, mistake]) => mistake !== null)
    for (const [name, mistake] of named) expect(mistake.fix.length, name).toBeGreaterThan(10)
    expect(new Set(named.map(([, mistake]) => mistake.name)).size).toBeGreaterThanOrEqual(15)
    expect(Object.keys(MISTAKES).length).toBeGreaterThanOrEqual(15)
  })

  test('accepts a right signature; for an unknown mistake shows the text that must be signed', async () => {
    expect(await explain(hmac(text()))).toMatchObject({ code: 0, ok: true, mistake: null })
    expect(await explain('0'.repeat(64))).toMatchObject({
      code: 1,
      ok: false,
      mistake: null,
      canonical: text(),
    })
  })

  test('reads a saved request: raw, with an added line break, and from curl -v', async () => {
    const path = join(await folder(), 'request.txt')
    const head = [
      `POST ${target} HTTP/1.1`,
      'Host: shop.example',
      `X-Api-Key: ${KEY}`,
      `X-Api-Timestamp: ${timestamp}`,
      `X-Api-Nonce: ${nonce}`,
      `X-Api-Signature: ${hmac(text())}`,
      `Content-Length: ${body.length}`,
    ]
    const explainFile = async (content: string, ...more: string[]) => {
      await writeFile(path, content)
      return shopwire(['doctor', 'signature', '--request', path, ...more], { env })
    }
    expect(await explainFile(`${head.join('\r\n')}\r\n\r\n${body}`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('is right'),
    })
    expect((await explainFile(`${head.join('\n')}\n\n${body}\n`)).code).toBe(0)
    const curl = `* Connected to shop.example\n${head.map((line) => `> ${line}`).join('\n')}\n>\n< HTTP/1.1 401 Unauthorized\n`
    expect(await explainFile(curl)).toMatchObject({ code: 2, stderr: expect.stringContaining('--body-file') })
    expect((await explainFile(curl, '--body', body)).code).toBe(0)
    expect((await explainFile('hello')).code).toBe(2)
    const foreign = await explainFile(
      `${head.join('\r\n')}\r\n\r\n${body}`.replace(KEY, KEY.replace('c1', 'c2')),
    )
    expect(foreign).toMatchObject({ code: 1, stdout: expect.stringContaining('belongs to') })
  })

  test('reports a header form that the store refuses even when the signature matches it', async () => {
    const ms = '1794700000000'
    const args = [
      'doctor',
      'signature',
      '--method',
      'GET',
      '--path',
      '/v1/ping',
      '--timestamp',
      ms,
      '--nonce',
      nonce,
    ]
    const signature = hmac(['GET', '/v1/ping', ms, nonce, sha256('')].join('\n'))
    expect(await shopwire([...args, '--signature', signature], { env })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('milliseconds'),
    })
  })

  test('header lines keep their values', () => {
    expect(parseRequest(Buffer.from('GET /v1/ping HTTP/1.1\r\nX-Api-Nonce:abc\r\n\r\n'))).toMatchObject({
      method: 'GET',
      target: '/v1/ping',
      headers: { 'x-api-nonce': 'abc' },
    })
  })
})
