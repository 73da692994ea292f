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
  const { webhook, account_id } = await emulator.facts()
  const secret = webhook?.secret ?? listeningSecret(apiSecret)
  // What an earlier run could not take away any more is ours too.
  const isOurs = webhook === null || webhook.url === inbox
  // From here on nothing is missed, even what happens before the stream is open.
  const since = await emulator.lastSeq()
  const open = async () => {
    if ((await emulator.facts()).webhook === null) await emulator.setWebhook({ url: inbox, secret })
  }
  return {
    open,
    name: `the emulator at ${emulator.origin}`,
    secret,
    alsoSentTo: isOurs ? undefined : webhook.url,
    deliveries: (signal, onTrouble) =>
      follow(emulator, { account_id, since, reopen: open }, signal, onTrouble),
    async close() {
      // It may have been stopped before us, and with it all that there was to put back.
      const now = await emulator.facts().catch(() => undefined)
      if (isOurs && now?.webhook?.url === inbox) await emulator.setWebhook({ url: null })
    },
  }
}

/** The secret that `listen` uses where there is none: made from the API secret, so that it needs no place to be kept. */
export function listeningSecret(apiSecret: string): string {
  return `whsec_${createHmac('sha256', apiSecret).update('shopwire listen').digest('base64url')}`
}

interface Place {
  readonly account_id: string
  readonly since: number
  reopen(): Promise<void>
}

async function* follow(
  emulator: Emulator,
  { account_id, since, reopen }: Place,
  signal: AbortSignal,
  onTrouble: (text: string) => void,
): AsyncGenerator<Delivery, void, undefined> {
  let lastId = String(since)
  let waitMs = RECONNECT_MS_FIRST
  for (let connections = 0; !signal.aborted; connections++) {
    try {
      // An emulator that was started anew has forgotten its endpoint.
      if (connections > 0) await reopen()
      const response = await fetch(`${emulator.origin}/_emulator/stream?after=${lastId}`, {
        signal,
        redirect: 'error',
        headers: { accept: 'text/event-stream', 'last-event-id': lastId },
      })
      if (!response.ok || !response.body) {
        throw new CliError({
          type: 'unexpected_response',
          message: `The stream answered ${response.status}.`,
        })
      }
      for await (const { id, event, data } of readServerSentEvents(response.body)) {
        waitMs = RECONNECT_MS_FIRST
        lastId = id ?? lastId
        if (event !== 'delivery') continue
        const delivery = JSON.parse(data) as Delivery & { account_id: string }
        if (delivery.account_id === account_id) yield delivery
      }
      if (!signal.aborted) onTrouble('The stream ended; connecting again.')
    } catch (error) {
      if (signal.aborted) return
      onTrouble(`${connectionReason(error) ?? (error as Error).message} Connecting again.`)
    }
    await sleep(waitMs, undefined, { signal }).catch(() => {})
    waitMs = Math.min(RECONNECT_MS_MAX, waitMs * 2)
  }
}
