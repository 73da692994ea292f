import { type DashboardRoute, dashboardRoutes, type Role, roles } from '@shopwire/contract/dashboard'
import { madeFrom, table } from './markdown.ts'

/** Routes that a person needs before or besides any account: nobody grants them. */
type OfMembers = Extract<(typeof dashboardRoutes)[number], { readonly access: readonly Role[] }>['name']

/** What a route does, in a few words. A route without words here does not compile. */
const WORDS: Readonly<Record<OfMembers, string>> = {
  listAudit: 'Audit log',
  listItems: 'Catalogue',
  catalogueSummary: 'Collections and types of the catalogue',
  getItem: 'One item',
  quoteCart: 'Calculate what a cart costs',
  deliveryHours: 'Webhook deliveries by hour',
  listDeliveries: 'Webhook deliveries',
  getDelivery: 'One event with its attempts',
  resendEvent: 'Send an event again',
  previewRecover: 'Events that were never accepted',
  recoverEvents: 'Send all events again that were never accepted',
  find: 'Search',
  getHome: 'Home',
  getStore: 'State of the store',
  listKeys: 'API keys, without their secrets',
  readKey: 'One API key with its use',
  createKey: 'Create an API key',
  renameKey: 'Rename an API key',
  rotateKey: 'Rotate an API key',
  revokeKey: 'Revoke an API key',
  live: 'Live updates of open pages',
  getBalance: 'Balance',
  listTransfers: 'Transfers',
  exportStatement: 'Statement as CSV',
  statementPdf: 'Statement as PDF',
  getSpend: 'Spend by day',
  getBalanceAlert: 'Balance alert',
  setBalanceAlert: 'Set the balance alert',
  addAlertAddress: 'Ask an address outside the team to confirm for balance alerts',
  removeAlertAddress: 'Remove an address from the balance alerts',
  getFunding: 'Ways to add funds',
  listTopUps: 'Top-ups',
  getTopUp: 'One top-up',
  startTopUp: 'Start a top-up',
  listOrders: 'Orders',
  exportOrders: 'Orders as CSV',
  getOrder: 'One order with its story, links masked',
  revealLink: 'Reveal a gift link',
  getProof: 'Evidence of an order',
  getTeam: 'Team',
  invite: 'Invite a person',
  withdrawInvitation: 'Withdraw an invitation',
  changeRole: 'Change the role of a member',
  removeMember: 'Remove a member',
  leaveAccount: 'Leave the account',
  renameAccount: 'Rename the account',
  listTokens: 'Own personal tokens',
  createToken: 'Create a personal token',
  revokeToken: 'Revoke an own personal token',
  getWebhook: 'Webhook endpoint and its health',
  setWebhook: 'Set or remove the webhook URL',
  testWebhook: 'Send a test event',
  rotateSecret: 'Rotate the webhook secret',
  endPreviousSecret: 'End the previous webhook secret early',
}

export function rolesPage(): string {
  const all: readonly DashboardRoute[] = dashboardRoutes
  const ofMembers = all.filter((route) => typeof route.access !== 'string')
  const actions = ofMembers.filter(({ method }) => method === 'POST')
  const reads = ofMembers.filter(({ method }) => method === 'GET')
  return `${madeFrom('contract/src/dashboard')}
# Roles of the dashboard

A person has one role in each account they are a member of. The server checks it for every request; what a page shows or hides is only
for orientation. An action marked ¹ also asks for a second factor that was given in the last five minutes.

${table(['Action', ...roles.map(capital)], actions.map(rowOf))}

Reading:

${table(['Page or file', ...roles.map(capital)], reads.map(rowOf))}

Every signed-in person also manages their own name, password, passkeys, authenticator app, recovery codes and sessions, whatever their role.
A role that is missing is answered with 403 \`role_missing\`. Anything of another account is answered with 404, as if it did not exist.
Every request names the account that its page shows. After a switch in another window it is answered with 409 \`account_mismatch\`, nothing
is read or changed, and the page asks to be reloaded.
`
}

function rowOf({ name, access, isStepUp }: DashboardRoute): string[] {
  const words = WORDS[name as OfMembers]
  const cells = roles.map((role) => (access.includes(role) ? 'yes' : '–'))
  return [`${words}${isStepUp ? ' ¹' : ''}`, ...cells]
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
