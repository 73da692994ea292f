import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import {
  ENDPOINT_SETTLE_MS,
  queueTest,
  readHealth,
  setEndpoint,
  stopEndpoint,
} from '../../webhooks/endpoint.ts'
import { answer, endpoint } from './endpoint.ts'

type CheckUrl = (url: string, account_id: string) => Promise<string>

export const getWebhook = (db: Db) =>
  endpoint('getWebhook', async ({ caller }) => answer(200, await readHealth(db, caller.account_id)))

export const postWebhook = (db: Db, keyring: Keyring, checkUrl: CheckUrl) =>
  endpoint('postWebhook', async ({ caller, body, nowMs }) => {
    const { account_id, key_id: set_by } = caller
    if (body.url === null) return answer(200, await stop(db, account_id, nowMs))
    const url = await checkUrl(body.url, account_id)
    const configured = await db.transaction((tx) =>
      setEndpoint(tx, keyring, { account_id, url, set_by }, nowMs),
    )
    if (configured.secret === undefined) await sleep(ENDPOINT_SETTLE_MS)
    return answer(200, configured)
  })

export const deleteWebhook = (db: Db) =>
  endpoint('deleteWebhook', async ({ caller, nowMs }) =>
    answer(200, await stop(db, caller.account_id, nowMs)),
  )

export const postWebhookTest = (db: Db) =>
  endpoint('postWebhookTest', async ({ caller, nowMs }) => {
    await db.transaction((tx) => queueTest(tx, caller.account_id, nowMs))
    return answer(200, { ok: true, queued: true })
  })

async function stop(db: Db, account_id: string, nowMs: number) {
  const health = await db.transaction((tx) => stopEndpoint(tx, account_id, nowMs))
  await sleep(ENDPOINT_SETTLE_MS)
  return health
}
