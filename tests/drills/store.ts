import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import { type Key, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import {
  createAuthority,
  findPostgres,
  findServiceUser,
  freePort,
  type ProcessName,
  PUBLIC_ADDRESSES,
  startDnsStub,
} from '@shopwire/test-kit/servers'
import {
  type ApiProcess,
  limitless,
  loginSettings,
  newItem,
  newLinks,
  ownerSettings,
  type Settings,
  SHIFTED_CLOCK,
  type System,
  startSystem,
  startWorker,
  superuserUrl,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { ROOT } from './runbook.ts'

const run = promisify(execFile)
const DISK_SIZE = '700m'
const RECEIVER = 'hook.example.net'
const CERTIFICATE_DAYS = 90

/** A whole store with a standby, a receiver of webhooks and a TLS proxy, and everything that a drill can break in it. */
export interface Store {
  readonly system: System
  readonly worker: WorkerProcess
  /** The process whose clock can be set apart. */
  readonly secondApi: ApiProcess
  readonly account_id: string
  readonly disk: string
  readonly keysFile: string
  readonly keys: string
  /** Of commands in a runbook, with what one drill adds. */
  env(more?: Record<string, string>): Record<string, string>
  /** An item with so many links, and a file with fresh ones. */
  newItem(links: number): Promise<{ ITEM: string; LINKS: string }>
  order(item: string, qty?: number): Promise<number>
  ping(): Promise<number>
  receiverFails(isFailing: boolean): void
  setClock(shiftMs: number): Promise<void>
  certificateFor(days: number): Promise<void>
  onStandby(statement: string): Promise<void>
}

/** What ends a part; all are run in reverse order, also when a later part could not be started. */
export type Defer = (end: () => unknown) => void

export async function openStore(folder: string, defer: Defer): Promise<Store> {
  const disk = join(folder, 'disk')
  await mkdir(disk, { mode: 0o755 })
  await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE},mode=0755`, 'shopwire-drill', disk])
  defer(() => run('umount', ['--lazy', disk]))
  const authority = await createAuthority({ days: 400 })
  defer(() => authority.remove())
  const dns = await startDnsStub()
  defer(() => dns.close())
  dns.set(RECEIVER, [PUBLIC_ADDRESSES[0]])
  let isFailing = false
  const receiver = await startHttpServer(
    async (request, response) => {
      await text(request)
      response.writeHead(isFailing ? 500 : 204).end()
    },
    { host: PUBLIC_ADDRESSES[0], port: 443, tls: await authority.issue(`DNS:${RECEIVER}`) },
  )
  defer(() => receiver.close())
  const issue = (days: number) => authority.issue('DNS:localhost', { days })
  const proxy = createServer(await issue(CERTIFICATE_DAYS), (_request, response) => response.end())
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  defer(() => proxy.close())
  const apiUrl = `https://localhost:${(proxy.address() as AddressInfo).port}/v1`

  const system = await startSystem({
    admission: 'postgres',
    settings: { ...limitless, NODE_EXTRA_CA_CERTS: authority.file, SHOPWIRE_API_URL: apiUrl },
    postgresDir: join(disk, 'postgres'),
  })
  defer(() => system.stop())
  const { SHOPWIRE_ENCRYPTION_KEYS: keys = '', ...settings } = system.settings
  const keysFile = join(folder, 'encryption_keys')
  const keysCopy = join(folder, 'encryption_keys.copy')
  for (const path of [keysFile, keysCopy]) await writeFile(path, keys)
  const settingsOf = (process: ProcessName): Settings => ({
    ...settings,
    ...loginSettings(system.database, process),
    SHOPWIRE_ENCRYPTION_KEYS_FILE: keysFile,
  })
  const worker = await startWorker(settingsOf('worker'))
  defer(() => worker.pid() !== undefined && worker.kill('SIGKILL'))
  const clockFile = join(folder, 'shift-ms')
  const setClock = (shiftMs: number) => writeFile(clockFile, String(shiftMs))
  await setClock(0)
  const secondApi = await system.startApi({
    NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`,
    TEST_CLOCK_FILE: clockFile,
  })
  const standby = await startStandby(system, folder)
  defer(() => standby.stop())
  const certificateFor = async (days: number) => proxy.setSecureContext(await issue(days))

  const units: Record<string, () => Promise<void>> = {
    'shopwire-worker@1': async () => {
      if (worker.pid() !== undefined) await worker.kill('SIGTERM')
      await worker.start()
    },
    postgresql: () => system.postgres.start(),
    chrony: () => setClock(0),
    caddy: () => certificateFor(CERTIFICATE_DAYS),
  }
  const systemctl = await startHttpServer(async (request, response) => {
    const [, unit = ''] = (await text(request)).split(' ')
    const act = units[unit]
    await (act ? act() : Promise.reject(new Error(`no unit ${unit}`))).then(
      () => response.end(),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  defer(() => systemctl.close())
  const bin = await writePrograms(folder, systemctl.port)

  const { account_id, key } = await system.createAccount({ balanceCents: 10_000_000 })
  const call = caller(system, key)
  await call('POST', '/v1/webhook', { url: `https://${RECEIVER}/hook` })
  return {
    system,
    worker,
    secondApi,
    account_id,
    disk,
    keysFile,
    keys,
    env: (more = {}) => ({
      PATH: [bin, findPostgres(), '/usr/bin', '/bin'].join(delimiter),
      LC_ALL: 'C.UTF-8',
      TZ: 'UTC',
      ...settingsOf('operator'),
      ...ownerSettings(system.database),
      KEYS_COPY: keysCopy,
      HEALTH: worker.healthUrl,
      ACCOUNT: account_id,
      OLD: superuserUrl(system.postgres, 'shopwire'),
      STANDBY: standby.url,
      DISK: disk,
      ...more,
    }),
    async newItem(links) {
      const item = newItem(1)
      await system.importItems([item])
      if (links > 0) await system.loadPool(item.id, newLinks(links))
      const file = join(folder, `links-${item.id}`)
      await writeFile(file, newLinks(20).join('\n'))
      return { ITEM: item.id, LINKS: file }
    },
    order: (item, qty = 1) =>
      call('POST', '/v1/orders', {
        idempotency_key: `drill-${randomBytes(12).toString('hex')}`,
        items: [{ id: item, qty }],
      }),
    ping: () => call('GET', '/v1/ping'),
    receiverFails(now) {
      isFailing = now
    },
    setClock,
    certificateFor,
    onStandby: async (statement) =>
      void (await run(join(findPostgres(), 'psql'), [standby.url, '-c', statement])),
  }
}

/** A signed call of the first API process; 0 when there was no answer. */
function caller({ apis }: System, key: Key) {
  const [api] = apis
  return async (method: string, target: string, content?: object): Promise<number> => {
    const body = content === undefined ? undefined : JSON.stringify(content)
    const headers = {
      ...signedHeaders(key, method, target, body),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const response = await fetch(`${api?.url}${target}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    }).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status ?? 0
  }
}

/** As docs/runbooks/restore.md sets one up. */
async function startStandby({ postgres }: System, folder: string) {
  const user = findServiceUser()
  const data = join(folder, 'standby')
  await mkdir(data, { mode: 0o700 })
  if (user) await chown(data, user.uid, user.gid)
  const port = await freePort()
  const options = [
    `-p ${port}`,
    '-c listen_addresses=127.0.0.1',
    '-c unix_socket_directories=',
    '-c fsync=off',
    '-c max_connections=200',
  ].join(' ')
  const as = (program: string, ...args: string[]) =>
    run(join(findPostgres(), program), args, { cwd: data, ...(user && { uid: user.uid, gid: user.gid }) })
  await as(
    ...([
      'pg_basebackup',
      `--dbname=${postgres.superuserUrl}?application_name=standby1`,
      `--pgdata=${data}`,
    ] as const),
    ...[
      '--wal-method=stream',
      '--checkpoint=fast',
      '--write-recovery-conf',
      '--create-slot',
      '--slot=standby1',
    ],
  )
  await as(
    'pg_ctl',
    `--pgdata=${data}`,
    `--log=${join(data, 'server.log')}`,
    `--options=${options}`,
    '--wait',
    'start',
  )
  const url = new URL(superuserUrl(postgres, 'shopwire'))
  url.port = String(port)
  return {
    url: url.href,
    stop: async () => void (await as('pg_ctl', `--pgdata=${data}`, '--mode=immediate', '--wait', 'stop')),
  }
}

/** What the runbooks call: the operator's command, and a stand-in for systemd that starts our processes. */
async function writePrograms(folder: string, port: number): Promise<string> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const program = async (name: string, line: string) => {
    await writeFile(join(bin, name), `#!/bin/sh\nexec ${line}\n`)
    await chmod(join(bin, name), 0o755)
  }
  await program('shopwire-admin', `${process.execPath} ${join(ROOT, 'service/bin/admin.ts')} "$@"`)
  await program('systemctl', `curl --silent --show-error --fail --data "$*" http://127.0.0.1:${port}/`)
  return bin
}
