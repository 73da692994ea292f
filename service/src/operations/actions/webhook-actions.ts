import type { Keyring } from '../../platform/encryption/encryption.ts'
import { resendEvent } from '../../webhooks/delivery-log.ts'
import { rotateSecret } from '../../webhooks/endpoint.ts'
import { recoverEvents } from '../../webhooks/recover.ts'
import type { Act } from './act.ts'

/** What an operator may do about an account's events. */
export function webhookActions(keyring: Keyring, act: Act) {
  return {
    rotateWebhookSecret: (account_id: string): Promise<string> =>
      act('webhook.rotate_secret', async (tx, nowMs) => ({
        result: await rotateSecret(tx, keyring, account_id, nowMs),
        target: account_id,
      })),

    resendEvent: (account_id: string, event_id: string): Promise<void> =>
      act('webhook.resend', async (tx, nowMs) => ({
        result: await resendEvent(tx, account_id, event_id, nowMs),
        target: account_id,
        details: { event_id },
      })),

    recoverEvents: (account_id: string, range: { from: Date; until: Date }): Promise<number> =>
      act('webhook.recover', async (tx, nowMs) => {
        const result = await recoverEvents(tx, account_id, range, nowMs)
        return { result, target: account_id, details: { ...range, events: result } }
      }),
  }
}
