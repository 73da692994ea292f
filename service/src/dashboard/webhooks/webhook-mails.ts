import type { WebhookHealth } from '@shopwire/contract'
import type { Member } from '../member.ts'
import type { OwnerMail } from '../team/mail-owners.ts'

const who = ({ person_name, email, address }: Member, nowMs: number) =>
  `${person_name} (${email}) did this from ${address} at ${new Date(nowMs).toISOString()}.`

const unexpected =
  'If you did not expect this, open Webhook in the dashboard and put it right, then check the team and its sessions.'

/** The host is enough to recognise it: a URL may contain a token of the receiver. */
const hostOf = (url: string) => new URL(url).host

export function urlMail(member: Member, before: WebhookHealth, url: string, nowMs: number): OwnerMail {
  const from = before.webhook_url === null ? '' : ` instead of to ${hostOf(before.webhook_url)}`
  const cancelled =
    before.pending === 0 ? '' : ` ${before.pending} events that were waiting for the old URL were cancelled.`
  return {
    subject: 'The webhook URL was changed',
    text: `${who(member, nowMs)}\n\nEvents, which contain gift links, are now sent to ${hostOf(url)}${from}.${cancelled}\n\n${unexpected}\n`,
  }
}

export function stoppedMail(member: Member, before: WebhookHealth, nowMs: number): OwnerMail {
  const waiting = before.pending === 0 ? '' : ` ${before.pending} events that were waiting were cancelled.`
  return {
    subject: 'The webhook was stopped',
    text: `${who(member, nowMs)}\n\nNo events are sent any more.${waiting} A URL that is set later gets a new signing secret.\n\n${unexpected}\n`,
  }
}

export function rotatedMail(member: Member, nowMs: number): OwnerMail {
  return {
    subject: 'The webhook signing secret was rotated',
    text: `${who(member, nowMs)}\n\nEvents are signed with a new secret from now on, and for 24 hours with the previous one as well, in the header X-Webhook-Signature-Previous. Give your receivers the new secret in that time.\n\n${unexpected}\n`,
  }
}

export function endedMail(member: Member, hint: string, nowMs: number): OwnerMail {
  return {
    subject: 'The previous webhook signing secret was ended early',
    text: `${who(member, nowMs)}\n\nThe secret that ends in ${hint} signs no more events. Receivers that still use it refuse them.\n\n${unexpected}\n`,
  }
}
