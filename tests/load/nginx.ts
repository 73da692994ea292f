import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeBlocks, ROOT } from '@shopwire/test-kit/pages/code-blocks'
import { type Certificate, freePort, until } from '@shopwire/test-kit/servers'

/** The nginx of deploy/proxy/nginx.conf, started with that file; only ports and paths are others. */
export interface Nginx {
  readonly port: number
  stop(): Promise<void>
}

export interface NginxOptions {
  readonly certificate: Certificate
  readonly apiPort: number
  /** What a test changes in the file. */
  readonly change?: (file: string) => string
}

const PAGE = 'docs/self-hosting/network.md'
const START_MS_MAX = 10_000

export async function startNginx({ certificate, apiPort, change }: NginxOptions): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-nginx-'))
  await writeFile(join(folder, 'api.pem'), certificate.cert)
  await writeFile(join(folder, 'api.key'), certificate.key, { mode: 0o600 })
  const port = await freePort()
  const file = await readFile(join(ROOT, 'deploy/proxy/nginx.conf'), 'utf8')
  const server = (change?.(file) ?? file)
    .replace('127.0.0.1:8080', `127.0.0.1:${apiPort}`)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll('/etc/nginx/tls/', `${folder}/`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const config = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
    http { access_log off; ${temporary.join(' ')} ${server} }`
  await writeFile(join(folder, 'nginx.conf'), config)
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
    env: { PATH: `/usr/sbin:${process.env.PATH}` },
    stdio: 'inherit',
  })
  const exited = once(child, 'exit')
  await until(
    () => isOpen(port),
    START_MS_MAX,
    () => `nginx does not listen; see ${folder}/error.log`,
  )
  return {
    port,
    async stop() {
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true })
    },
  }
}

/** A block of the page by its mark `run=`. */
export async function readProxyBlock(mark: string): Promise<string> {
  const text = await readFile(join(ROOT, PAGE), 'utf8')
  const block = codeBlocks({ path: PAGE, text }).find(({ marks }) => marks.run === mark)
  if (!block) throw new Error(`${PAGE} has no block with run=${mark}`)
  return block.code
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
