import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Emulator } from '../store/emulator.ts'
import { CliError, connectionReason } from '../trouble.ts'
import type { Delivery, DeliverySource } from './delivery-source.ts'
import { readServerSentEvents } from './server-sent-events.ts'

const RECONNECT_MS_FIRST = 250
const RECONNECT_MS_MAX = 5_000

/**
 * Follows an emulator. Without an endpoint nothing is ever sent, so while we listen its account gets one: the emulator's own
 * inbox, with a secret that stays the same over all runs.
 */
export async function openEmulatorSource(emulator: Emulator, apiSecret: string): Promise<DeliverySource> {
  const inbox = `${emulator.origin}/_emulator/inbox`
  const { webhook } = await emulator.facts()
  // What an earlier run could not take away any more is ours too.
  const isOurs = webhook === null || webhook.url === inbox
  const secret = webhook?.secret ?? listeningSecret(apiSecret)
  if (webhook === null) await emulator.setWebhook({ url: inbox, secret })
  return {
    name: `the emulator at ${emulator.origin}`,
    secret,
    alsoSentTo: isOurs ? undefined : webhook.url,
    deliveries: (signal, onTrouble) => follow(emulator, signal, onTrouble),
    async close() {
      if (!isOurs) return
      const now = (await emulator.facts()).webhook
      if (now?.url === inbox) await emulator.setWebhook({ url: null })
    },
  }
}

/** The secret that `listen` uses where there is none: made from the API secret, so that it needs no place to be kept. */
export function listeningSecret(apiSecret: string): string {
  return `whsec_${createHmac('sha256', apiSecret).update('shopwire listen').digest('base64url')}`
}

async function* follow(
  emulator: Emulator,
  signal: AbortSignal,
  onTrouble: (text: string) => void,
): AsyncGenerator<Delivery, void, undefined> {
  let lastId: string | undefined
  let waitMs = RECONNECT_MS_FIRST
  while (!signal.aborted) {
    try {
      const response = await fetch(
        `${emulator.origin}/_emulator/stream${lastId === undefined ? '' : `?after=${lastId}`}`,
        {
          signal,
          headers: { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) },
        },
      )
      if (!response.ok || !response.body) {
        throw new CliError({
          type: 'unexpected_response',
          message: `The stream answered ${response.status}.`,
        })
      }
      for await (const { id, event, data } of readServerSentEvents(response.body)) {
        waitMs = RECONNECT_MS_FIRST
        lastId = id ?? lastId
        if (event === 'delivery') yield JSON.parse(data) as Delivery
      }
      onTrouble('The stream ended; connecting again.')
    } catch (error) {
      if (signal.aborted) return
      onTrouble(`${connectionReason(error) ?? (error as Error).message} Connecting again.`)
    }
    await sleep(waitMs, undefined, { signal }).catch(() => {})
    waitMs = Math.min(RECONNECT_MS_MAX, waitMs * 2)
  }
}
