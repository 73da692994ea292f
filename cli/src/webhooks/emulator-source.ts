import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Emulator } from '../store/emulator.ts'
import { CliError, connectionReason } from '../trouble.ts'
import type { Delivery, DeliverySource } from './delivery-source.ts'
import { readServerSentEvents } from './server-sent-events.ts'

const RECONNECT_MS_FIRST = 250
const RECONNECT_MS_MAX = 5_000

/**
 * Follows an emulator. Without an endpoint no events are sent, so while the command runs the account gets one: the
 * emulator's inbox, with a secret that is the same in every run.
 */
export async function openEmulatorSource(emulator: Emulator, apiSecret: string): Promise<DeliverySource> {
  const inbox = `${emulator.origin}/_emulator/inbox`
  const { webhook, account_id } = await emulator.facts()
  const secret = webhook?.secret ?? listeningSecret(apiSecret)
  // An endpoint left by an earlier run that was killed counts as ours.
  const isOurs = webhook === null || webhook.url === inbox
  // The position is read first, so events before the stream opens are not missed.
  const since = await emulator.lastSeq()
  const open = async () => {
    if ((await emulator.facts()).webhook === null) await emulator.setWebhook({ url: inbox, secret })
  }
  return {
    open,
    name: `the emulator at ${emulator.origin}`,
    secret,
    notes(forwardTo) {
      if (isOurs) return []
      const isSame = forwardTo && sameHost(webhook.url) === sameHost(forwardTo.href)
      return [
        `The emulator also sends to ${webhook.url}${isSame ? ': every event reaches your receiver twice' : ''}.`,
      ]
    },
    deliveries: (signal, onTrouble) =>
      follow(emulator, { account_id, since, reopen: open }, signal, onTrouble),
    async close() {
      // The emulator may have stopped already; then there is nothing to revert.
      const now = await emulator.facts().catch(() => undefined)
      if (isOurs && now?.webhook?.url === inbox) await emulator.setWebhook({ url: null })
    },
  }
}

/** The secret that `listen` uses where there is none: derived from the API secret, so that it needs no storage. */
export function listeningSecret(apiSecret: string): string {
  return `whsec_${createHmac('sha256', apiSecret).update('shopwire listen').digest('base64url')}`
}

const sameHost = (url: string) => url.replace('localhost', '127.0.0.1')

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
      // A restarted emulator has lost its endpoint.
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
      if (!signal.aborted) onTrouble('The stream ended; reconnecting.')
    } catch (error) {
      if (signal.aborted) return
      onTrouble(`${connectionReason(error) ?? (error as Error).message} Reconnecting.`)
    }
    await sleep(waitMs, undefined, { signal }).catch(() => {})
    waitMs = Math.min(RECONNECT_MS_MAX, waitMs * 2)
  }
}
