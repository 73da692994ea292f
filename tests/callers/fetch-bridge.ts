import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'

/**
 * `fetch-bridge.ts MODULE`: serves what is written for a platform that uses Request and Response, without the platform: a route of
 * Next (`POST`), or a Worker (`default.fetch`) with SQLite in the place of D1.
 */
const [module = ''] = process.argv.slice(2)
const { POST, default: worker } = await import(module)
const handle: (request: Request) => Promise<Response> =
  POST ?? ((request) => worker.fetch(request, workerEnv(), {}))
const port = Number(process.env.PORT)

createServer(async (incoming, outgoing) => {
  const request = new Request(`http://localhost:${port}${incoming.url}`, {
    method: incoming.method ?? 'GET',
    headers: Object.entries(incoming.headers).map(
      ([name, value]) => [name, String(value)] as [string, string],
    ),
    body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>,
    duplex: 'half',
  })
  const response = await handle(request).catch(() => new Response(null, { status: 500 }))
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}).listen(port, () => process.stdout.write(`Waiting for events at http://localhost:${port}/hooks\n`))

let env: object | undefined

function workerEnv(): object {
  env ??= { ...process.env, DB: d1(new URL('./schema.sql', module)) }
  return env
}

function d1(schema: URL) {
  const db = new DatabaseSync(process.env.EVENTS_DB ?? ':memory:')
  db.exec(readFileSync(schema, 'utf8'))
  return {
    prepare: (sql: string) => ({
      bind: (...values: (string | number)[]) => ({
        first: async () => db.prepare(sql).get(...values) ?? null,
        run: async () => db.prepare(sql).run(...values),
      }),
    }),
  }
}
