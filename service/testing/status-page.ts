import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SaxesParser } from 'saxes'
import type { StatusDocument } from '../src/operations/status-page/document.ts'
import { createStatusPage } from '../src/operations/status-page/status-page.ts'
import type { Db } from '../src/platform/database/db.ts'
import { createLog } from '../src/platform/observability/log.ts'

export type StatusPages = Awaited<ReturnType<typeof openStatusPages>>

/** Status pages of one store, each as another worker's, with an API that answers as the test says and a clock that the test moves. */
export async function openStatusPages(db: Db) {
  const api = { status: 'operational', api: 'up', code: 200 }
  const server = createServer((_, response) => {
    response.writeHead(api.code, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ status: api.status, api: api.api }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const place = { host, apiUrl: `http://${host}/v1`, contact: 'help@example.com', isAsked: true }
  const time = { ms: Date.now(), isTrusted: true }
  const lines: string[] = []
  const folders: string[] = []

  async function open(folder?: string) {
    const made = folder ?? (await mkdtemp(join(tmpdir(), 'status-page-')))
    folders.push(made)
    const page = createStatusPage({
      db,
      clock: { nowMs: () => time.ms },
      log: createLog('debug', { write: (line) => void lines.push(line) }),
      folder: made,
      place,
      fetch: globalThis.fetch,
      isTimeTrusted: () => time.isTrusted,
    })
    const file = (name: string) => readFile(join(made, name), 'utf8')
    const read = async () => JSON.parse(await file('status.json')) as StatusDocument
    return {
      ...page,
      folder: made,
      file,
      read,
      /** The worker looks every so often for so long, and what is written then. */
      async after(ms: number, everyMs = 10_000): Promise<StatusDocument> {
        for (const endMs = time.ms + ms; time.ms < endMs; ) {
          time.ms = Math.min(endMs, time.ms + everyMs)
          await page.look()
        }
        return read()
      },
    }
  }

  return {
    api,
    host,
    time,
    lines,
    open,
    async close() {
      server.close()
      for (const folder of folders) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The names of the elements, and all text. Fails for what is not well-formed. */
export function parseXml(text: string): { elements: string[]; text: string } {
  const elements: string[] = []
  let all = ''
  const parser = new SaxesParser()
  parser.on('opentag', ({ name }) => void elements.push(name))
  parser.on('text', (part) => {
    all += part
  })
  parser.on('error', (error) => {
    throw error
  })
  parser.write(text).close()
  return { elements, text: all }
}
