import { createHash, randomBytes, randomInt } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { ACCOUNT_HEADER, ACCOUNT_PARAMETER, liveEvents, readAgainEveryMs } from '@shopwire/contract/dashboard'
import type pg from 'pg'
import { Pool } from 'undici'
import type { BenchKey, BenchSystem } from '../shared/bench-system.ts'
import { say } from '../shared/figures.ts'

const CONNECTIONS = 6
/** What the two pages read that people leave open: at once when they are told to, and by themselves so often. */
const PAGES = [
  { path: '/api/home', everyMs: readAgainEveryMs.getHome },
  { path: '/api/orders?limit=25', everyMs: undefined },
] as const
/** Of every page, for what is beside it. */
const FRAME = { path: '/api/store', everyMs: readAgainEveryMs.getStore } as const

/** Somebody signed in, and the account that their page shows. */
export interface BenchPerson {
  readonly cookie: string
  readonly account_id: string
}

interface OpenDashboards {
  /** How many times a page has read again. */
  reads(): number
  close(): Promise<void>
}

/**
 * Starts a dashboard process and signs people in to the accounts that have keys. Returns what runs something while a page of each of
 * them is open; the pages are closed in between, the process stays.
 */
export async function besideDashboards(system: BenchSystem, count: number) {
  const people = await signIn(
    system.owner,
    Array.from({ length: count }, (_, n) => (system.keys[n % system.keys.length] as BenchKey).account_id),
  )
  const { url } = await system.startDashboard()
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const pages = await openDashboards(url, people)
    try {
      return await work()
    } finally {
      say(`${count} dashboards read again ${pages.reads()} times`)
      await pages.close()
    }
  }
}

/** Signs somebody in to each account, whoever is in it twice twice, without a password: in the order of the accounts. */
export async function signIn(owner: pg.Client, account_ids: readonly string[]): Promise<BenchPerson[]> {
  const tokens = account_ids.map(() => randomBytes(32).toString('base64url'))
  const hashes = tokens.map((token) => createHash('sha256').update(token).digest())
  const numbers = account_ids.map((_, n) => n)
  await owner.query(
    `insert into people (id, name, email, email_verified, has_totp, created_at, updated_at)
     select 'per_bench' || n, 'Bench', 'bench' || n || '@example.com', true, true, now(), now()
       from unnest($1::integer[]) n`,
    [numbers],
  )
  await owner.query(
    `insert into memberships (account_id, person_id, role, created_at)
     select account_id, 'per_bench' || n, 'owner', now()
       from unnest($1::integer[], $2::text[]) as t (n, account_id)`,
    [numbers, account_ids],
  )
  await owner.query(
    `insert into sessions (token_hash, id, person_id, account_id, created_at, last_seen_at, expires_at, address, user_agent)
     select token_hash, 'ses_bench' || n, 'per_bench' || n, account_id, now(), now(), now() + interval '10 hours', '127.0.0.1', 'bench'
       from unnest($1::integer[], $2::text[], $3::bytea[]) as t (n, account_id, token_hash)`,
    [numbers, account_ids, hashes],
  )
  return account_ids.map((account_id, n) => ({
    account_id,
    cookie: `__Host-shopwire-session=${tokens[n]}`,
  }))
}

/** Opens a page per person: its first read, its stream, and a read whenever the stream tells of a change, as web/client/live.ts does. */
async function openDashboards(url: string, people: readonly BenchPerson[]): Promise<OpenDashboards> {
  const client = new Pool(url, { connections: CONNECTIONS })
  let reads = 0
  const read = async (person: BenchPerson, path: string) => {
    const { statusCode, body } = await client.request({ method: 'GET', path, headers: headersOf(person) })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`GET ${path} answered ${statusCode}: ${text.slice(0, 200)}`)
  }
  const pages = await Promise.all(
    people.map(async (person, n) => {
      const page = PAGES[n % PAGES.length] as (typeof PAGES)[number]
      const readAgain = (path: string) => {
        reads += 1
        void read(person, path)
      }
      await read(person, page.path)
      const close = await openStream(url, person, () => readAgain(page.path))
      const stops = [page, FRAME].map(({ path, everyMs }) => repeat(everyMs, () => readAgain(path)))
      return () => {
        close()
        for (const stop of stops) stop()
      }
    }),
  )
  return {
    reads: () => reads,
    async close() {
      for (const close of pages) close()
      await client.close()
    },
  }
}

/** What a page sends with every read. */
export const headersOf = ({ cookie, account_id }: BenchPerson) => ({
  cookie,
  [ACCOUNT_HEADER]: account_id,
  'sec-fetch-site': 'same-origin',
})

/** As people's pages do, which were not all opened at the same moment. */
function repeat(everyMs: number | undefined, work: () => void): () => void {
  if (everyMs === undefined) return () => {}
  let timer: NodeJS.Timeout
  const wait = (ms: number) => {
    timer = setTimeout(() => {
      work()
      wait(everyMs)
    }, ms)
  }
  wait(randomInt(everyMs))
  return () => clearTimeout(timer)
}

/** Returns what closes it. */
async function openStream(url: string, person: BenchPerson, onHint: () => void): Promise<() => void> {
  const { cookie, account_id } = person
  const headers = { cookie, 'sec-fetch-site': 'same-origin', accept: 'text/event-stream' }
  const request = get(`${url}/api/live?${ACCOUNT_PARAMETER}=${account_id}`, { headers })
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  if (stream.statusCode !== 200) throw new Error(`the stream answered ${stream.statusCode}`)
  request.on('error', () => {})
  stream.on('error', () => {})
  stream.setEncoding('utf8').on('data', (text: string) => {
    if (text.includes(`event: ${liveEvents.hint}`)) onHint()
  })
  return () => void request.destroy()
}
