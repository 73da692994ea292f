import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { BASE_PATH } from '@shopwire/contract'
import {
  type Key,
  nowS,
  type SigningOptions,
  signedHeaders,
} from '@shopwire/test-kit/requests/signed-request'
import type { ServerProcess } from '@shopwire/test-kit/systems'
import { median } from './figures.ts'

/** A process that answers on a port. */
export type Target = ServerProcess & { readonly port: number }

export interface Unsigned {
  readonly method: 'GET' | 'POST'
  readonly target: string
  /** JSON in ASCII. */
  readonly body?: string
}

/** A new purchase of these items, one of each. */
export function unsignedOrder(item_ids: readonly string[]): Unsigned {
  const items = item_ids.map((id) => ({ id }))
  return {
    method: 'POST',
    target: `${BASE_PATH}/orders`,
    body: JSON.stringify({ idempotency_key: randomBytes(16).toString('hex'), items }),
  }
}

export interface RequestFile {
  readonly path: string
  /** Of each request in bytes. */
  readonly length: number
  readonly count: number
}

export interface Result {
  readonly perSecond: number
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Requests not answered with 2xx; a run that has any fails the whole bench. */
  readonly failures: number
  /** Of the server, for one request. Says more than the speed when the machine has other work too. */
  readonly cpuUs: number
}

const SCRIPT = fileURLToPath(new URL('./load.lua', import.meta.url))
const CONNECTIONS = 64
const THREADS = 1
const WRITE_EVERY = 1_000

export function assertWrk(): void {
  if (spawnSync('wrk', ['--version']).error === undefined) return
  throw Object.assign(new Error('wrk is not installed: apt-get install wrk'), { code: 'CANNOT_BEGIN' })
}

/**
 * Writes `count` signed requests, the keys in turn, all dated now: a request ahead of the server's clock takes a slower path,
 * and one is valid for a minute.
 */
export function writeRequests(
  path: string,
  keys: readonly Key[],
  count: number,
  make: () => Unsigned,
): RequestFile {
  const timestamp = nowS()
  const file = openSync(path, 'w')
  let length = 0
  let batch = ''
  for (let n = 0; n < count; n += 1) {
    const request = signedRequest(keys[n % keys.length] as Key, make(), timestamp)
    if (length !== 0 && request.length !== length) throw new Error('requests differ in length')
    length = request.length
    batch += request
    if (n % WRITE_EVERY === 0 || n === count - 1) {
      writeSync(file, batch, null, 'latin1')
      batch = ''
    }
  }
  closeSync(file)
  return { path, length, count }
}

export function headersOf(
  key: Key,
  { method, target, body = '' }: Unsigned,
  options?: SigningOptions,
): Record<string, string> {
  return {
    ...signedHeaders(key, method, target, body, options),
    ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': String(body.length) }),
  }
}

function signedRequest(key: Key, request: Unsigned, timestamp: number): string {
  const lines = Object.entries(headersOf(key, request, { timestamp })).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const { method, target, body = '' } = request
  return `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n${body}`
}

/** One run of wrk with the requests of a file. Anything but an answer with 2xx to every request is a failure. */
export async function runLoad(
  server: Target,
  requests: RequestFile & { readonly isOnce: boolean },
  seconds: number,
  connections = CONNECTIONS,
): Promise<Result> {
  const cpuMsBefore = server.cpuMs()
  const { stdout: printed } = await promisify(execFile)('wrk', [
    `--threads=${THREADS}`,
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    '--timeout=10s',
    `--script=${SCRIPT}`,
    `http://127.0.0.1:${server.port}`,
    '--',
    requests.path,
    String(requests.length),
  ])
  const cpuMs = server.cpuMs() - cpuMsBefore
  const [, json] = /^result (.*)$/m.exec(printed) ?? []
  if (json === undefined) throw new Error(`wrk printed no result:\n${printed}`)
  const seen = JSON.parse(json) as Record<
    'requests' | 'us' | 'p50_us' | 'p99_us' | 'not_2xx' | 'socket_errors',
    number
  >
  if (requests.isOnce && seen.requests + connections > requests.count) {
    throw new Error(`${requests.count} signed requests were too few for ${seconds} s`)
  }
  if (seen.not_2xx > 0 || seen.socket_errors > 0 || seen.requests === 0) {
    throw new Error(
      `of ${seen.requests} requests ${seen.not_2xx} were not answered with 2xx, ${seen.socket_errors} had socket errors`,
    )
  }
  return {
    perSecond: seen.requests / (seen.us / 1_000_000),
    requests: seen.requests,
    p50Ms: seen.p50_us / 1000,
    p99Ms: seen.p99_us / 1000,
    failures: seen.not_2xx,
    cpuUs: (1000 * cpuMs) / seen.requests,
  }
}

export function medianResult(results: readonly Result[]): Result {
  const of = (field: keyof Result): number => median(results.map((result) => result[field]))
  return {
    perSecond: of('perSecond'),
    requests: of('requests'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    cpuUs: of('cpuUs'),
    failures: of('failures'),
  }
}

export const HEADINGS = ['requests/s', '   p50 ms', '   p99 ms', '   CPU us', '  not 2xx'].join('')

export function columns({ perSecond, p50Ms, p99Ms, cpuUs, failures }: Result): string {
  return [
    perSecond.toFixed(0).padStart(10),
    p50Ms.toFixed(2).padStart(9),
    p99Ms.toFixed(2).padStart(9),
    (Number.isNaN(cpuUs) ? '-' : cpuUs.toFixed(0)).padStart(9),
    String(failures).padStart(9),
  ].join('')
}
