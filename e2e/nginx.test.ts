import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createAuthority, freePort, until } from '@shopwire/engines'
import { newItem, START_MS_MAX, type System, signedHeaders, startSystem } from '@shopwire/harness'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newOrder } from './support/buyer.ts'
import { codeBlocks, ROOT } from './support/code-blocks.ts'

/** The nginx of docs/self-hosting/tls-and-proxies.md, started with the block of the page; only ports and paths are others. */
const PAGE = 'docs/self-hosting/tls-and-proxies.md'
const NAME = 'api.example.com'
const START_MS = 10_000

let system: System
let nginx: Awaited<ReturnType<typeof startNginx>>
beforeAll(async () => {
  system = await startSystem({ admission: 'postgres', settings: { SHOPWIRE_TRUSTED_PROXY_HOPS: '1' } })
  nginx = await startNginx(system.ports[0] as number)
}, START_MS_MAX)
afterAll(async () => {
  await nginx?.stop()
  await system?.stop()
})

test('requests arrive through nginx as they were signed, and the address is that of the caller, whatever it claims', async () => {
  const { key, account_id } = await system.createAccount({ balanceCents: 1_000 })
  const item = newItem(100)
  await system.importItems([item])
  const send = async (method: string, target: string, body = '') => {
    const headers = { ...signedHeaders(key, method, target, body), 'x-forwarded-for': '8.8.8.8' }
    return nginx.send(method, target, headers, body)
  }
  for (const query of ['q=a%2Fb%20c+d&&collection=%C3%A9', 'q=%7e..//x', 'limit=5&offset=0&'])
    expect((await send('GET', `/v1/catalogue?${query}`)).status, query).toBe(200)
  // A path that a proxy would tidy up is refused by the API for what it is, not for its signature.
  expect((await send('GET', '/v1//balance')).status).toBe(404)
  expect((await send('GET', '/v1/orders/..%2Fbalance')).status).not.toBe(401)

  const order = newOrder({ id: item.id })
  expect((await send('POST', '/v1/orders', JSON.stringify(order, undefined, 3))).status).toBe(201)
  const address = await system.query(`select client_address from orders where account_id = '${account_id}'`)
  expect(address).toBe('127.0.0.1')
})

async function startNginx(apiPort: number) {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-nginx-'))
  const authority = await createAuthority()
  const { key, cert } = await authority.issue(`DNS:${NAME}`)
  await writeFile(join(folder, 'api.pem'), cert)
  await writeFile(join(folder, 'api.key'), key, { mode: 0o600 })
  const port = await freePort()
  const [block] = codeBlocks({ path: PAGE, text: await readFile(join(ROOT, PAGE), 'utf8') }).filter(
    ({ marks }) => marks.run === 'nginx',
  )
  const server = String(block?.code)
    .replace('127.0.0.1:8080', `127.0.0.1:${apiPort}`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replaceAll('/etc/nginx/tls/', `${folder}/`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const config = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
    http { access_log off; ${temporary.join(' ')} ${server} }`
  await writeFile(join(folder, 'nginx.conf'), config)
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
    stdio: 'inherit',
  })
  const ca = await readFile(authority.file)
  const send = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body = '',
  ): Promise<{ status: number | undefined; body: string }> => {
    const sent = request({ host: '127.0.0.1', port, servername: NAME, ca, method, path, headers }).end(body)
    const [response] = await once(sent, 'response')
    return { status: response.statusCode, body: await text(response) }
  }
  await until(
    () =>
      send('GET', '/v1/status').then(
        ({ status }) => status === 200,
        () => false,
      ),
    START_MS,
    () => 'nginx does not answer',
  )
  return {
    send,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      await authority.remove()
      await rm(folder, { recursive: true })
    },
  }
}
