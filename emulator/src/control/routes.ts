import { refuse, VERSION } from '@shopwire/service/embedded'
import { ACCOUNT_ID, KEY } from '../database/seed.ts'
import { isFaultName } from '../faults/fault-kinds.ts'
import type { Store } from '../store/store.ts'
import type { AboutEmulator } from '../types.ts'
import type { Actions } from './actions.ts'
import { nothingHere, optional, range } from './parameters.ts'
import type { Streams } from './stream.ts'

export interface Control {
  readonly store: Store
  readonly actions: Actions
  readonly streams: Streams
  baseUrl(): string
}

export interface ControlRequest {
  /** The second part of the path; empty where there is none. */
  readonly id: string
  readonly query: URLSearchParams
  /** The JSON object that was sent. */
  body(): Promise<Record<string, unknown>>
}

type Route = (control: Control, request: ControlRequest) => unknown

/** What each path answers, except for the stream. */
export const routes: Readonly<Record<string, Route>> = {
  'GET /': aboutEmulator,
  'GET /requests': ({ store: { journal } }, { query }) => ({
    requests: journal.after('request', ...range(query)),
    last: journal.last(),
  }),
  'GET /deliveries': ({ store: { journal } }, { query }) => ({
    deliveries: journal.after('delivery', ...range(query)),
    last: journal.last(),
  }),
  'GET /orders': ({ actions }, { query }) =>
    actions.orders({ ...optional(query, 'account_id'), ...optional(query, 'idempotency_key') }),
  'GET /ledger': ({ actions }, { query }) => actions.ledger(optional(query, 'account_id')),
  'POST /verify': ({ actions }) => actions.verify(),
  'POST /accounts': async ({ actions }, { body }) => actions.createAccount(await body()),
  'POST /keys': async ({ actions }, { body }) => actions.createKey(await body()),
  'POST /keys/:id/revoke': ({ actions }, { id }) => actions.revokeKey(id),
  'POST /account': async ({ actions }, { body }) => actions.setStatus(await body()),
  'POST /balance': async ({ actions }, { body }) => actions.setBalance(await body()),
  'POST /webhook': async ({ actions }, { body }) => actions.setWebhook(await body()),
  'POST /webhook/:id': async ({ actions }, { id, body }) => {
    if (id !== 'rotate') throw nothingHere()
    return actions.rotateWebhook(await body())
  },
  'POST /catalogue': async ({ actions }, { body }) => actions.importCatalogue(await body()),
  'POST /time': async ({ actions }, { body }) => actions.advanceTime(await body()),
  'POST /items/:id': async ({ actions }, { id, body }) => actions.changeItem(id, await body()),
  'POST /orders/:id/deliver': ({ actions }, { id }) => actions.deliver(id),
  'POST /orders/:id/cancel': ({ actions }, { id }) => actions.cancel(id),
  'GET /faults': ({ store: { faults } }) => ({ faults: faults.list() }),
  'POST /faults': async ({ store }, { body }) => {
    const fault = store.faults.arm(await body())
    await store.settled()
    return fault
  },
  'DELETE /faults': disarm,
  'DELETE /faults/:id': disarm,
}

/** Answered with 201. */
export const created: ReadonlySet<string> = new Set(['POST /accounts', 'POST /keys'])

async function aboutEmulator({ store, actions, baseUrl }: Control): Promise<AboutEmulator> {
  return {
    version: VERSION,
    base_url: baseUrl(),
    account_id: ACCOUNT_ID,
    account_status: await actions.statusOf(ACCOUNT_ID),
    key: KEY,
    webhook: await actions.webhookOf(ACCOUNT_ID),
    faults: store.faults.list(),
  }
}

async function disarm({ store: { faults, settled } }: Control, { id, query }: ControlRequest) {
  if (id !== '' && !isFaultName(id)) throw refuse('not_found', `There is no fault ${id}.`)
  faults.disarm(isFaultName(id) ? id : undefined, query.get('account_id') ?? undefined)
  await settled()
  return { faults: faults.list() }
}
