import type { WebhookHealth } from '@shopwire/contract'
import type { Letter } from '../../platform/mail/letter.ts'

const footer = [
  'If you did not expect this, open Webhook in the dashboard and put it right, then check the team and its sessions.',
]

/** The host is enough to recognise it: a URL may contain a token of the receiver. */
const hostOf = (url: string) => new URL(url).host

export function urlMail(before: Pick<WebhookHealth, 'pending' | 'webhook_url'>, url: string): Letter {
  const { pending, webhook_url } = before
  return {
    subject: 'The webhook URL was changed',
    paragraphs: [
      'Events, which contain gift links, are sent to the new URL from now on.',
      ...(pending === 0 ? [] : [`${pending} events that were waiting for the old URL were cancelled.`]),
    ],
    facts: [
      ['Its host', hostOf(url)],
      ['Before', webhook_url === null ? 'no URL' : hostOf(webhook_url)],
    ],
    footer,
  }
}

export function stoppedMail({ pending }: Pick<WebhookHealth, 'pending'>): Letter {
  const waiting = pending === 0 ? '' : ` ${pending} events that were waiting were cancelled.`
  return {
    subject: 'The webhook was stopped',
    paragraphs: [`No events are sent any more.${waiting} A URL that is set later gets a new signing secret.`],
    footer,
  }
}

export function rotatedMail(): Letter {
  return {
    subject: 'The webhook signing secret was rotated',
    paragraphs: [
      'Events are signed with a new secret from now on, and for 24 hours with the previous one as well, in the header ' +
        'X-Webhook-Signature-Previous. Give your receivers the new secret in that time.',
    ],
    footer,
  }
}

export function endedMail(hint: string): Letter {
  return {
    subject: 'The previous webhook signing secret was ended early',
    paragraphs: [
      `The secret that ends in ${hint} signs no more events. Receivers that still use it refuse them.`,
    ],
    footer,
  }
}
