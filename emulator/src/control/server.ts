import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServeRequest } from '@shopwire/service/embedded'
import { answerJson, answerOwnRefusal, answerRefusal, readBody, readObject } from './answers.ts'
import { readDocs } from './docs.ts'
import { refusePages, refuseStrangers } from './guard.ts'
import { readPage } from './page.ts'
import { decoded, integer, nothingHere } from './parameters.ts'
import { type Control, created, routes } from './routes.ts'

const PREFIX = '/_emulator'

/** Answers `/`, pages under `/docs` and what is under `/_emulator`; all other requests are passed to the store unchanged. */
export async function createControlServer(control: () => Control | undefined) {
  const [page, docs] = await Promise.all([readPage(), readDocs()])
  const shown = (path: string) => [page, docs].find(({ has }) => has(path))
  return (serve: ServeRequest): ServeRequest =>
    (request, response) => {
      const [path = '', query = ''] = (request.url ?? '').split('?', 2)
      const file = shown(path)
      const isOurs = file !== undefined || path === PREFIX || path.startsWith(`${PREFIX}/`)
      if (!isOurs) return refusePages(request, response) ? undefined : serve(request, response)
      if (path === `${PREFIX}/inbox`) return void accept(request, response)
      if (refuseStrangers(request, response)) return
      if (file) {
        if (request.method === 'GET' || request.method === 'HEAD') return file.serve(path, response)
        return answerOwnRefusal(response, 405, 'method_not_allowed', 'This page can only be read.')
      }
      const parts = control()
      if (!parts) return answerOwnRefusal(response, 503, 'starting', 'The emulator is starting.')
      handle(parts, request, response, path.slice(PREFIX.length), new URLSearchParams(query)).catch((error) =>
        answerRefusal(response, error),
      )
    }
}

/** A webhook receiver that accepts everything. */
async function accept(request: IncomingMessage, response: ServerResponse) {
  await readBody(request).catch(() => {})
  answerJson(response, 200, { ok: true })
}

async function handle(
  control: Control,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  query: URLSearchParams,
): Promise<void> {
  const [, folder = '', id = '', action = '', more] = path.split('/').map(decoded)
  if (more !== undefined) throw nothingHere()
  const asked = `${request.method} /${folder}${id === '' ? '' : '/:id'}${action === '' ? '' : `/${action}`}`
  if (asked === 'GET /stream') {
    const after = query.has('after') ? integer(query, 'after', 0) : undefined
    return control.streams.serve(request, response, after)
  }
  const route = routes[asked]
  if (!route) throw nothingHere()
  const answer = await route(control, { id, query, body: () => readObject(request) })
  answerJson(response, created.has(asked) ? 201 : 200, answer)
}
