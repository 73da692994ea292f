import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../pages/code-blocks.ts'
import { type Certificate, freePorts, until } from '../servers/index.ts'
import { capture } from '../systems/index.ts'

/** The HAProxy of deploy/proxy/haproxy.cfg, that very file; ports and paths are given by its variables. */
export interface Haproxy {
  readonly port: number
  /** Its list of servers, which deploy/upgrade/rolling reads. */
  readonly stateUrl: string
  state(): Promise<string>
  log(): string
  stop(): Promise<void>
}

export interface HaproxyOptions {
  readonly certificate: Certificate
  /** One or two. */
  readonly apis: readonly { readonly port: number; readonly healthPort: number | string }[]
  /** More variables of the file, such as HAPROXY_SLOWSTART. */
  readonly variables?: Readonly<Record<string, string>>
}

const START_MS_MAX = 120_000

/** Ready when every API process is in use. */
export async function startHaproxy({ certificate, apis, variables }: HaproxyOptions): Promise<Haproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-haproxy-'))
  await writeFile(join(folder, 'shopwire.pem'), `${certificate.cert}${certificate.key}`, { mode: 0o600 })
  const [port = 0, statePort = 0, nobody = 0] = await freePorts(3)
  const servers = [1, 2].flatMap((n) => {
    const api = apis[n - 1] ?? { port: nobody, healthPort: nobody }
    return [
      [`HAPROXY_API_${n}`, String(api.port)],
      [`HAPROXY_HEALTH_${n}`, String(api.healthPort)],
    ]
  })
  const child = spawn('haproxy', ['-db', '-f', join(ROOT, 'deploy/proxy/haproxy.cfg')], {
    env: {
      PATH: `/usr/sbin:${process.env.PATH}`,
      HAPROXY_BIND: `127.0.0.1:${port}`,
      HAPROXY_CERTIFICATE: join(folder, 'shopwire.pem'),
      HAPROXY_STATE_PORT: String(statePort),
      ...Object.fromEntries(servers),
      ...variables,
    },
  })
  const exited = once(child, 'exit')
  const [out, err] = [capture(child, 'stdout'), capture(child, 'stderr')]
  const log = () => `${out()}${err()}`
  const stateUrl = `http://127.0.0.1:${statePort}/state;csv`
  const state = async () => (await fetch(stateUrl)).text()
  const inUse = async () =>
    (await state().catch(() => '')).match(/^api,api-\d,.*,UP,/gm)?.length === apis.length
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true })
  }
  try {
    await until(inUse, START_MS_MAX, () => `HAProxy sees no servers:\n${log()}`)
  } catch (error) {
    await stop()
    throw error
  }
  return { port, stateUrl, state, log, stop }
}
