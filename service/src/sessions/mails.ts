import type { Role } from '@shopwire/contract/dashboard'
import type { Letter } from '../platform/mail/letter.ts'
import { isolated } from '../platform/text/plain-text.ts'
import { ROLE_NAMES } from './people.ts'

// At most one link. The token is behind the "#": mail servers that open links, and logs on the way, do not see it.

/** Names are shown to others: one long or odd name must not make a subject that hides the rest. */
const short = (name: string) => isolated([...name].length > 60 ? `${[...name].slice(0, 59).join('')}…` : name)

export function invitationMail(
  link: string,
  { account_name, role, inviter_name }: { account_name: string; role: Role; inviter_name: string | null },
): Letter {
  return {
    subject: `Invitation to ${short(account_name)} on Shopwire`,
    headline: `${inviter_name === null ? 'You were invited' : `${short(inviter_name)} has invited you`} to the account "${short(account_name)}" as ${ROLE_NAMES[role]}.`,
    action: {
      says: 'Open this link to accept. It works once, for seven days:',
      label: 'Accept the invitation',
      url: link,
    },
    footer: ['If you did not expect this, ignore it: nothing happens without the link.'],
  }
}

export function operatorInvitationMail(link: string): Letter {
  return {
    subject: 'Invitation to operate a Shopwire store',
    headline: 'You were invited to operate a Shopwire store.',
    action: {
      says: 'Open this link on the device whose passkey you will use. It works once, for 24 hours:',
      label: 'Accept the invitation',
      url: link,
    },
    footer: ['If you did not expect this, ignore it.'],
  }
}

export function resetMail(link: string): Letter {
  return {
    subject: 'Choose a new Shopwire password',
    paragraphs: ['Somebody, probably you, asked to reset the password of your Shopwire sign-in.'],
    action: {
      says: 'Open this link to choose a new one. It works once, for one hour:',
      label: 'Choose a new password',
      url: link,
    },
    footer: ['If it was not you, ignore this: your password has not changed.'],
  }
}

export function verificationMail(link: string): Letter {
  return {
    subject: 'Confirm your address for Shopwire',
    action: {
      says: 'Open this link to confirm that this address is yours. It works once, for 24 hours:',
      label: 'Confirm this address',
      url: link,
    },
    footer: ['If you have no Shopwire sign-in, ignore this.'],
  }
}

/**
 * To an address that somebody typed, perhaps a stranger's. It contains no text from the account or a person, not even their names:
 * otherwise anybody with an account could send a text of their choice to any address.
 */
export function alertAddressMail(link: string): Letter {
  return {
    subject: 'Confirm this address for Shopwire balance mails',
    paragraphs: ['Somebody wants the low-balance mails of a Shopwire account to be sent to this address.'],
    action: {
      says: 'If that is right, open this link and confirm. It works once, for seven days:',
      label: 'Confirm this address',
      url: link,
    },
    footer: [
      'If you do not know what this is about, ignore it: without the link nothing else is sent to you.',
    ],
  }
}

/** After something changed how a person signs in. */
export function securityMail(what: string, origin: string, address: string): Letter {
  return {
    subject: 'A change to your Shopwire sign-in',
    headline: what,
    facts: [['From address', address]],
    action: {
      says: 'If this was you, there is nothing to do. If not, reset your password at once and end all other sessions:',
      label: 'Open Security',
      url: `${origin}/security`,
    },
  }
}

/** To the owners, after somebody changed who belongs to the account. */
export function teamMail(what: string, account_name: string, origin: string): Letter {
  return {
    subject: `Team of ${short(account_name)} changed`,
    headline: what,
    action: {
      says: 'Check the team if you did not expect this:',
      label: 'Open Team',
      url: `${origin}/team`,
    },
  }
}
