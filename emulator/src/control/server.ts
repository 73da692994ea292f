import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse, type ServeRequest, VERSION } from '@shopwire/service/embedded'
import { isFaultName } from '../faults/fault-kinds.ts'
import { ACCOUNT_ID, KEY } from '../database/seed.ts'
import type { Store } from '../store/store.ts'
import type { AboutEmulator } from '../types.ts'
import type { Actions } from './actions.ts'
import { answerJson, answerOwnRefusal, answerRefusal, readBody, readObject } from './answers.ts'
import { readDocs } from './docs.ts'
import { refusePages, refuseStrangers } from './guard.ts'
import { readPage } from './page.ts'
import type { Streams } from './stream.ts'

export interface Control {
  readonly store: Store
  readonly actions: Actions
  readonly streams: Streams
  baseUrl(): string
}

const PREFIX = '/_emulator'
const LIMIT_DEFAULT = 100
const LIMIT_MAX = 2_000

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
  { store, actions, streams, baseUrl }: Control,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  query: URLSearchParams,
): Promise<void> {
  const { journal, faults } = store
  const ok = (value: unknown) => answerJson(response, 200, value)
  const method = request.method ?? ''
  const [, folder = '', id = '', action = '', more] = path.split('/').map(decoded)
  const asked = `${method} /${folder}${id === '' ? '' : '/:id'}${action === '' ? '' : `/${action}`}`
  if (more !== undefined) throw nothingHere()
  switch (asked) {
    case 'GET /':
      return ok({
        version: VERSION,
        base_url: baseUrl(),
        account_id: ACCOUNT_ID,
        account_status: await actions.statusOf(ACCOUNT_ID),
        key: KEY,
        webhook: await actions.webhookOf(ACCOUNT_ID),
        faults: faults.list(),
      } satisfies AboutEmulator)
    case 'GET /requests':
      return ok({ requests: journal.after('request', ...range(query)), last: journal.last() })
    case 'GET /deliveries':
      return ok({ deliveries: journal.after('delivery', ...range(query)), last: journal.last() })
    case 'GET /orders':
      return ok(
        await actions.orders({
          ...optional(query, 'account_id'),
          ...optional(query, 'idempotency_key'),
        }),
      )
    case 'GET /ledger':
      return ok(await actions.ledger(optional(query, 'account_id')))
    case 'GET /stream':
      return streams.serve(request, response, query.has('after') ? integer(query, 'after', 0) : undefined)
    case 'POST /verify':
      return ok(await actions.verify())
    case 'POST /accounts':
      return answerJson(response, 201, await actions.createAccount(await readObject(request)))
    case 'POST /keys':
      return answerJson(response, 201, await actions.createKey(await readObject(request)))
    case 'POST /keys/:id/revoke':
      return ok(await actions.revokeKey(id))
    case 'POST /account':
      return ok(await actions.setStatus(await readObject(request)))
    case 'POST /balance':
      return ok(await actions.setBalance(await readObject(request)))
    case 'POST /webhook':
      return ok(await actions.setWebhook(await readObject(request)))
    case 'POST /webhook/:id':
      if (id !== 'rotate') throw nothingHere()
      return ok(await actions.rotateWebhook(await readObject(request)))
    case 'POST /catalogue':
      return ok(await actions.importCatalogue(await readObject(request)))
    case 'POST /time':
      return ok(await actions.advanceTime(await readObject(request)))
    case 'POST /items/:id':
      return ok(await actions.changeItem(id, await readObject(request)))
    case 'POST /orders/:id/deliver':
      return ok(await actions.deliver(id))
    case 'POST /orders/:id/cancel':
      return ok(await actions.cancel(id))
    case 'GET /faults':
      return ok({ faults: faults.list() })
    case 'POST /faults': {
      const fault = faults.arm(await readObject(request))
      await store.settled()
      return ok(fault)
    }
    case 'DELETE /faults':
    case 'DELETE /faults/:id': {
      if (id !== '' && !isFaultName(id)) throw refuse('not_found', `There is no fault ${id}.`)
      faults.disarm(isFaultName(id) ? id : undefined, query.get('account_id') ?? undefined)
      await store.settled()
      return ok({ faults: faults.list() })
    }
    default:
      throw nothingHere()
  }
}

function nothingHere() {
  return refuse('not_found', 'There is nothing at this path. The emulator’s README lists the paths.')
}

function range(query: URLSearchParams): [after: number, limit: number] {
  return [integer(query, 'after', 0), Math.min(LIMIT_MAX, integer(query, 'limit', LIMIT_DEFAULT))]
}

function integer(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name)
  if (text === null) return fallback
  if (!/^\d{1,15}$/.test(text)) throw refuse('invalid_request', `${name} is a whole number.`)
  return Number(text)
}

function optional<Name extends string>(query: URLSearchParams, name: Name): { [Key in Name]?: string } {
  const value = query.get(name)
  return (value === null ? {} : { [name]: sayable(value) }) as { [Key in Name]?: string }
}

function decoded(part: string): string {
  try {
    return sayable(decodeURIComponent(part))
  } catch {
    throw nothingHere()
  }
}

/** The only character that PostgreSQL text cannot contain. */
function sayable(text: string): string {
  if (text.includes('\0')) throw nothingHere()
  return text
}
