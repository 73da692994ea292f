import { presetOf, type TokenRight } from '@shopwire/contract/dashboard'
import type { Fact, Letter } from '../../platform/mail/letter.ts'
import { day } from '../../platform/text/format.ts'
import { isolated } from '../../platform/text/plain-text.ts'

interface NamedKey {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
}

const footer = [
  'If you did not expect this, revoke the key in the dashboard under API keys, then check the team and its sessions.',
]

function scopesOf({ scopes }: NamedKey): Fact {
  const preset = presetOf(scopes)
  return ['Scopes', `${scopes.join(', ')}${preset ? ` (${preset.name})` : ''}`]
}

export function createdMail(key: NamedKey): Letter {
  return {
    subject: `API key "${isolated(key.name)}" was created`,
    paragraphs: key.scopes.includes('orders:write') ? ['It can spend the balance.'] : [],
    facts: [['Key', key.id], scopesOf(key)],
    footer,
  }
}

export function rotatedMail(key: NamedKey, before: string): Letter {
  return {
    subject: `API key "${isolated(key.name)}" is being rotated`,
    paragraphs: ['The old key works until it is revoked.'],
    facts: [['New key', key.id], ['Old key', before], scopesOf(key)],
    footer,
  }
}

export function revokedMail(key: NamedKey): Letter {
  return {
    subject: `API key "${isolated(key.name)}" was revoked`,
    paragraphs: [
      'Requests signed with it are refused from now on. This cannot be undone; a new key replaces it.',
    ],
    facts: [['Key', key.id]],
  }
}

interface NewToken {
  readonly name: string
  readonly rights: readonly TokenRight[]
  readonly with_links: boolean
  readonly expires_at: Date
}

export function tokenMail({ name, rights, with_links, expires_at }: NewToken): Letter {
  return {
    subject: `Personal token "${isolated(name)}" was created`,
    paragraphs: ['It cannot spend.'],
    facts: [
      ['Rights', `${rights.join(', ')}${with_links ? ', gift links included' : ''}`],
      ['Valid until', `${day(expires_at)} UTC`],
    ],
    footer: ['If you did not expect this, remove the person from the team, which also ends their tokens.'],
  }
}
