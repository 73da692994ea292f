import { type DashboardRoute, dashboardRoutes, type Role, roles } from '@shopwire/contract/dashboard'
import { wrapped } from './markdown.ts'

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

/** Of docs/guides/dashboard.md. */
export function rolesSection(): string {
  const all: readonly DashboardRoute[] = dashboardRoutes
  const ofMembers = all.filter((route) => typeof route.access !== 'string')
  return `Actions; one marked ¹ also asks for a second factor that was given in the last five minutes:

${listOf(ofMembers.filter(({ method }) => method === 'POST'))}

Pages and files:

${listOf(ofMembers.filter(({ method }) => method === 'GET'))}
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
  return `${WORDS[name as OfMembers]}${isStepUp ? ' ¹' : ''}`
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
