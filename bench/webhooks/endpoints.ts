import { createCipheriv, randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { BenchSystem } from '../shared/bench-system.ts'
import { accountIdSql } from '../shared/seed.ts'

/** Endpoints with secrets of their own, written straight into the tables: 100,000 calls of POST /webhook would take an hour. */
export async function seedEndpoints(
  { owner, settings }: BenchSystem,
  urls: readonly { firstAccount: number; count: number; url: string }[],
): Promise<void> {
  const encryptionKey = settings.SHOPWIRE_ENCRYPTION_KEYS ?? ''
  const [kekId = ''] = encryptionKey.split(':')
  for (const { firstAccount, count, url } of urls) {
    for (let done = 0; done < count; done += CHUNK) {
      const numbers = Array.from({ length: Math.min(CHUNK, count - done) }, (_, n) => firstAccount + done + n)
      const { rows } = await owner.query<{ id: string }>(
        `select ${accountIdSql('n')} as id from unnest($1::bigint[]) with ordinality as t (n, place) order by place`,
        [numbers],
      )
      const accounts = rows.map(({ id }) => id)
      const sealed = accounts.map((account_id) =>
        seal(`whs_${randomBytes(32).toString('base64url')}`, encryptionKey, [
          'webhook_secrets.secret',
          account_id,
          SECRET_ID,
        ]),
      )
      await owner.query(
        `insert into webhook_endpoints (account_id, id, url, set_by, created_at)
         select account_id, 'whe_' || account_id, $2, 'bench', now() from unnest($1::text[]) account_id`,
        [accounts, url],
      )
      await owner.query(
        `insert into webhook_secrets (account_id, id, secret_sealed, secret_kek_id, created_at)
         select account_id, '${SECRET_ID}', sealed, $3, now() from unnest($1::text[], $2::bytea[]) as t (account_id, sealed)`,
        [accounts, sealed, kekId],
      )
    }
  }
}

/** Events as the service writes them; their ids begin with this moment, so that a receiver knows how old they are. */
export async function recordEvents(owner: pg.Client, accounts: readonly number[]): Promise<void> {
  const ids = accounts.map(nextId)
  await owner.query(
    `select record_event(${accountIdSql('n')}, id, 'test', null, null, now())
       from unnest($1::bigint[], $2::text[]) as t (n, id)`,
    [accounts, ids],
  )
}

/** One event per order there is. */
export async function recordOrderEvents(owner: pg.Client): Promise<void> {
  await owner.query(
    `select record_event(account_id, 'evt_' || lpad(${Date.now()}::text, 15, '0') || '_' || lpad((row_number() over ())::text, 10, '0'),
                         'order.accepted', id, null, now())
       from orders`,
  )
}

function nextId(): string {
  serial += 1
  return `evt_${String(Date.now()).padStart(15, '0')}_${String(serial).padStart(10, '0')}`
}
let serial = 0

const CHUNK = 5_000
const SECRET_ID = 'whs_bench'

/** The service's envelope encryption, implemented again: nothing may import the service. */
function seal(plain: string, encryptionKey: string, boundTo: readonly string[]): Buffer {
  const [kekId = '', kek = ''] = encryptionKey.split(':')
  const context = Buffer.from(JSON.stringify(boundTo))
  const dataKey = randomBytes(32)
  const wrapped = encrypt(Buffer.from(kek, 'base64'), dataKey, context)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(wrapped.length)
  const body = encrypt(dataKey, Buffer.from(plain), context)
  return Buffer.concat([Buffer.from([1, kekId.length]), Buffer.from(kekId), length, wrapped, body])
}

function encrypt(key: Buffer, plain: Buffer, context: Buffer): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(context)
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}
