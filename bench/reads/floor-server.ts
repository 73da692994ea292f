import { createSecretKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { requestHeadersLower } from '@shopwire/contract'
import { signatureMatches } from '@shopwire/contract/signing'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { BenchKey } from '../shared/bench-system.ts'

/** Settings of the floor server, as JSON in the file named by its one argument. */
export interface FloorSettings {
  readonly port: number
  readonly body: string
  readonly admission: 'none' | 'postgres' | 'redis'
  readonly databaseUrl: string
  readonly connectionsMax: number
  readonly redisUrl: string
  readonly admissionLua: string
  readonly requestsMax: number
  readonly ordersMax: number
  readonly keys: readonly BenchKey[]
}

interface FloorKey {
  readonly id: string
  readonly hmacKey: KeyObject
  readonly account_id: string
  readonly access_version: number
  memory: string
}

type Admit = (key: FloorKey, nonce: string, signed_at: number) => Promise<boolean>

/**
 * The least a server can do: answer without any check (`none`), or check what every signed request needs: the four headers,
 * the key, one HMAC and one round trip of admission. No framework, no log, no metrics, no error bodies.
 */
const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FloorSettings
const NOTHING = new Uint8Array()
const body = Buffer.from(settings.body)
const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }
const keys = new Map<string, FloorKey>(
  settings.keys.map(({ secret, ...key }) => [
    key.id,
    { ...key, hmacKey: createSecretKey(secret, 'utf8'), memory: '' },
  ]),
)

const server =
  settings.admission === 'none'
    ? createServer((_request, response) => response.writeHead(200, headers).end(body))
    : createSignedServer(settings.admission === 'postgres' ? postgresAdmit() : redisAdmit())
server.listen(settings.port, '127.0.0.1')

function createSignedServer(admit: Admit) {
  return createServer((request, response) => {
    admitted(admit, request).then(
      (isAdmitted) => {
        if (isAdmitted) response.writeHead(200, headers).end(body)
        else response.writeHead(401).end()
      },
      () => response.writeHead(503).end(),
    )
  })
}

async function admitted(admit: Admit, request: IncomingMessage): Promise<boolean> {
  const key = keys.get(String(request.headers[requestHeadersLower.key]))
  const timestamp = String(request.headers[requestHeadersLower.timestamp])
  const nonce = String(request.headers[requestHeadersLower.nonce])
  const signature = request.headers[requestHeadersLower.signature]
  const { method = '', url: target = '' } = request
  if (!key) return false
  if (!signatureMatches(key.hmacKey, { method, target, timestamp, nonce, body: NOTHING }, signature))
    return false
  return admit(key, nonce, Number(timestamp))
}

function postgresAdmit(): Admit {
  const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: settings.connectionsMax })
  return async (key, nonce, signed_at) => {
    const { rows } = await pool.query<{ verdicts: string[] }>({
      name: 'admit',
      text: 'select * from admit_many(true, $1, $2, $3, $4, $5, $6, $7, $8)',
      values: [
        [key.account_id],
        [key.id],
        [nonce],
        [signed_at],
        [key.access_version],
        [false],
        settings.requestsMax,
        settings.ordersMax,
      ],
    })
    return rows[0]?.verdicts[0] === 'admitted'
  }
}

/** The service's own script, so that both sides give Redis the same work. */
function redisAdmit(): Admit {
  const client = new Redis(settings.redisUrl, { enableAutoPipelining: true }) as Redis & {
    admit(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<[reply: string]>
  }
  client.defineCommand('admit', { lua: settings.admissionLua })
  return async (key, nonce, signed_at) => {
    const own = `shopwire:{${key.account_id}}`
    const [reply] = await client.admit(
      6,
      `shopwire:memory:{${key.account_id}}`,
      `${own}:nonce:${key.id}:${nonce}`,
      `${own}:requests`,
      `${own}:orders`,
      `${own}:access-version`,
      `${own}:refusals`,
      settings.requestsMax,
      settings.ordersMax,
      signed_at,
      key.access_version,
      key.memory,
      0,
      '',
      0,
    )
    const [verdict, memory = ''] = reply.split(' ')
    key.memory = memory
    return verdict === 'admitted'
  }
}
