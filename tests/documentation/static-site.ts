import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/** The plainest host the portal can meet: files under /docs/, and the policy that its page about hosting asks for. */
export async function serveSite(folder: string, policy: string): Promise<{ server: Server; base: string }> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site')
    const path = pathname.startsWith('/docs/')
      ? normalize(decodeURIComponent(pathname.slice('/docs/'.length)))
      : '..'
    for (const name of path.startsWith('..') ? [] : [path, `${path}.html`, join(path, 'index.html')]) {
      const content = await readFile(join(folder, name)).catch(() => undefined)
      if (!content) continue
      const type = TYPES[extname(name)] ?? 'application/octet-stream'
      response.writeHead(200, { 'content-type': type, 'content-security-policy': policy }).end(content)
      return
    }
    response.writeHead(404, { 'content-type': 'text/plain' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/docs/` }
}
