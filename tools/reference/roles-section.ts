import { type DashboardRoute, dashboardRoutes, type Role, roles } from '@shopwire/contract/dashboard'
import { wrapped } from './markdown.ts'

/** Routes that a person needs before or besides any account: nobody grants them. */
type OfMembers = Extract<(typeof dashboardRoutes)[number], { readonly access: readonly Role[] }>
type NameOf<Method extends string> = Extract<OfMembers, { readonly method: Method }>['name']

/** Everybody's own things, which the page names below the list. */
const ONES_OWN = ['saveView', 'renameView', 'deleteView', 'setOwnMail'] as const
type OnesOwn = (typeof ONES_OWN)[number]

/** What an action does, in a few words. One without words here does not compile. */
const ACTIONS: Readonly<Record<Exclude<NameOf<'POST'>, OnesOwn>, string>> = {
  quoteCart: 'Quote a cart',
  resendEvent: 'Send an event again',
  resendEvents: 'Send selected ones again',
  recoverEvents: 'Send all again that were never accepted',
  createKey: 'Create an API key',
  renameKey: 'Rename an API key',
  rotateKey: 'Rotate an API key',
  revokeKey: 'Revoke an API key',
  setBalanceAlert: 'Set the balance alert',
  addAlertAddress: 'Add an address to the balance alerts',
  removeAlertAddress: 'Remove one from them',
  startTopUp: 'Start a top-up',
  revealLink: 'Reveal a gift link',
  invite: 'Invite a person',
  withdrawInvitation: 'Withdraw an invitation',
  changeRole: 'Change the role of a member',
  removeMember: 'Remove a member',
  leaveAccount: 'Leave the account',
  renameAccount: 'Rename the account',
  setMemberMail: 'Choose which mail a member gets',
  createToken: 'Create a personal token',
  revokeToken: 'Revoke an own personal token',
  setWebhook: 'Set or remove the webhook URL',
  testWebhook: 'Send a test event',
  sendExampleEvent: 'Send an example',
  rotateSecret: 'Rotate the webhook secret',
  endPreviousSecret: 'End the previous webhook secret early',
}

/** What not every role may read. */
const READS: Readonly<Partial<Record<NameOf<'GET'>, string>>> = {
  previewRecover: 'Events that were never accepted',
  listTokens: 'Own personal tokens',
}

/** Of docs/guides/dashboard.md. */
export function rolesSection(): string {
  const all: readonly DashboardRoute[] = dashboardRoutes
  const ofMembers = all.filter(
    ({ name, access }) => typeof access !== 'string' && !ONES_OWN.some((one) => one === name),
  )
  const isForSome = ({ access }: DashboardRoute) => access.length < roles.length
  return `Every role reads every page and file, with gift links masked, except:

${listOf(ofMembers.filter((route) => route.method === 'GET' && isForSome(route)))}

Actions; one marked ¹ also asks for a second factor that was given in the last five minutes:

${listOf(ofMembers.filter(({ method }) => method === 'POST'))}
`
}

/** What the same roles may do is one line. */
function listOf(some: readonly DashboardRoute[]): string {
  const groups = Map.groupBy(some, ({ access }) => {
    const allowed = roles.filter((role) => access.includes(role))
    return allowed.length === roles.length ? 'Every role' : allowed.map(capital).join(', ')
  })
  return [...groups]
    .map(([allowed, ones]) => wrapped(`- **${allowed}:** ${ones.map(wordsOf).join('; ')}.`, '  '))
    .join('\n')
}

function wordsOf({ name, isStepUp }: DashboardRoute): string {
  const words = { ...ACTIONS, ...READS }[name as Exclude<OfMembers['name'], OnesOwn>]
  if (words === undefined) throw new Error(`${name} has no words in ${import.meta.filename}`)
  return `${words}${isStepUp ? ' ¹' : ''}`
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
