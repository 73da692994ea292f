import Type, { type Static } from 'typebox'
import { closed } from '../shapes.ts'
import { RoleName } from './identity.ts'
import { builders, ownersOnly, type Role, roles, treasurers } from './roles.ts'
import type { DashboardRoute } from './route.ts'

// Which mail the people of an account get. Members choose some kinds; what protects the account or a sign-in is sent anyway.

interface MailKindFacts {
  readonly title: string
  readonly about: string
  /** Who gets it until they choose otherwise; null: nobody can choose. */
  readonly roles: readonly Role[] | null
}

export const mailKinds = {
  balance_alert: {
    title: 'Low balance',
    about: 'The balance gets low, is below the threshold, or has recovered.',
    roles: treasurers,
  },
  top_up: { title: 'Top-ups', about: 'A top-up was credited.', roles: treasurers },
  reversal: {
    title: 'Money taken back',
    about: 'A refund or dispute of a top-up was taken from the balance, or was returned.',
    roles: treasurers,
  },
  webhook_trouble: {
    title: 'Webhook trouble',
    about: 'Your server refuses most events, or an event was given up.',
    roles: builders,
  },
  account_security: {
    title: 'Keys, webhook, links and team',
    about: 'Somebody changed a key, a token, the webhook or the team, or revealed a gift link.',
    roles: null,
  },
  own_sign_in: {
    title: 'Own sign-in',
    about: 'A passkey, password or second factor changed: to that person alone.',
    roles: null,
  },
  invitation: {
    title: 'Invitations and confirmations',
    about: 'A link to join or to confirm an address: to that address alone.',
    roles: null,
  },
  account_closed: { title: 'End of the account', about: 'The store has closed the account.', roles: null },
} as const satisfies Record<string, MailKindFacts>

export type MailKindName = keyof typeof mailKinds

/** Members choose whether they get these. At least one owner gets each. */
export const chosenMails = ['balance_alert', 'top_up', 'reversal', 'webhook_trouble'] as const
export type ChosenMail = (typeof chosenMails)[number]

const PersonId = Type.String({ minLength: 1, maxLength: 64 })
const Kind = Type.Enum(chosenMails, { type: 'string' })

export const MailPreferences = closed({
  members: Type.Array(
    closed({
      person_id: Type.String(),
      name: Type.String(),
      role: RoleName,
      is_you: Type.Boolean(),
      /** Whether they have confirmed their address. */
      is_confirmed: Type.Boolean(),
    }),
  ),
  kinds: Type.Array(
    closed({
      kind: Type.Enum(Object.keys(mailKinds) as MailKindName[], { type: 'string' }),
      title: Type.String(),
      about: Type.String(),
      can_choose: Type.Boolean(),
      /** False: nothing of this kind is sent at present, whoever has chosen it. */
      is_sent: Type.Boolean(),
      /** Members. Null: it goes to the one whom it is about. */
      goes_to: Type.Union([Type.Array(Type.String()), Type.Null()]),
      /** Members who get it as soon as they have confirmed their address. */
      waits_for: Type.Array(Type.String()),
      /** Outside the team, confirmed. */
      addresses: Type.Array(Type.String()),
    }),
  ),
})
export type MailPreferences = Static<typeof MailPreferences>

export const mailRoutes = [
  { name: 'getMailPreferences', method: 'GET', path: '/api/mail', access: roles, reply: MailPreferences },
  {
    name: 'setOwnMail',
    method: 'POST',
    path: '/api/mail/set-own',
    access: roles,
    body: closed({ kind: Kind, is_on: Type.Boolean() }),
    reply: MailPreferences,
  },
  {
    name: 'setMemberMail',
    method: 'POST',
    path: '/api/mail/set-member',
    access: ownersOnly,
    isStepUp: true,
    body: closed({ person_id: PersonId, kind: Kind, is_on: Type.Boolean() }),
    reply: MailPreferences,
  },
] as const satisfies readonly DashboardRoute[]
