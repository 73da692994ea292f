import type { Scope } from '@shopwire/contract'
import type { TokenRight } from '@shopwire/contract/dashboard'
import { formatCount } from '#lib/money.ts'

const small = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine'] as const
const inWords = (count: number) => small[count] ?? formatCount(count)

/** As the contract's `keyPresets`, which a browser has only as types; a test compares them. */
export const presets = [
  {
    name: 'Read-only',
    scopes: ['account:read', 'catalogue:read', 'orders:read', 'webhooks:read'],
    meaning: 'It reads everything, gift links of delivered orders too, and cannot spend.',
  },
  {
    name: 'Ordering',
    scopes: ['catalogue:read', 'orders:read', 'orders:write'],
    meaning: 'It can quote, place orders and read them. Orders spend your balance.',
  },
  {
    name: 'Full',
    scopes: [
      'account:read',
      'catalogue:read',
      'orders:read',
      'orders:write',
      'webhooks:read',
      'webhooks:write',
    ],
    meaning: 'It can do everything the API offers: orders, balance, catalogue and webhook.',
  },
] as const satisfies readonly { name: string; scopes: readonly Scope[]; meaning: string }[]

export const scopeMeanings = {
  'account:read': 'Read the balance.',
  'catalogue:read': 'Read items and prices, and price a cart.',
  'orders:read': 'Read orders, with the gift links of delivered ones.',
  'orders:write': 'Place orders. Every order spends the balance.',
  'webhooks:read': 'Read the webhook address and its health.',
  'webhooks:write': 'Change the webhook address and send tests.',
} as const satisfies Record<Scope, string>

export const keys = {
  title: 'API keys',
  meta: (live: number, spending: number) => {
    if (live === 0) return 'No live key.'
    const spend =
      spending === 0
        ? 'None of them can spend the balance.'
        : spending === live && live > 1
          ? 'All of them can spend the balance.'
          : live === 1
            ? 'It can spend the balance.'
            : `${inWords(spending)} of them can spend the balance.`
    return `${inWords(live)} live ${live === 1 ? 'key' : 'keys'}. ${spend}`
  },
  caption: 'API keys, live ones first',
  create: 'Create key',
  columns: {
    key: 'Key',
    rights: 'Rights',
    calls: 'Calls, last 36 h',
    calls24: 'Calls 24 h',
    orders24: 'Orders 24 h',
    lastUsed: 'Last used',
    status: 'Status',
    actions: 'Actions',
  },
  never: 'Never',
  custom: 'Custom',
  allScopes: (count: number) => `all ${count} scopes`,
  someScopes: (count: number) => `${count} scopes`,
  sparkline: (total: number) => `${formatCount(total)} calls in the last 36 hours`,
  safe: 'safe to revoke',
  safeMore: (span: string) => `unused for ${span}`,
  safeNever: 'never used',
  stillUsed: 'still used',
  stillUsedMore: (when: string) => `last ${when}`,
  foot: 'Secrets are shown once, at creation. Creating and rotating a key asks for your second factor and mails every owner.',
  notListed: (count: number) => `${formatCount(count)} older revoked keys are in the audit log.`,
  empty: {
    title: 'No API key yet',
    body: 'Your servers sign every request with a key. A key does only what its scopes allow; one that can place orders spends the balance.',
    readOnly: 'An Owner or Developer can create one.',
  },
  menu: { rename: 'Rename…', rotate: 'Rotate…', revoke: 'Revoke…', audit: 'Audit log' },
  actionsOf: (name: string) => `Actions for ${name}`,
  revokeNow: 'Revoke',
  form: {
    title: 'Create a key',
    lead: 'Its scopes can never be changed: for more rights, create another key.',
    name: 'Name',
    nameHint: 'Where it is used, such as checkout-eu or catalogue-sync',
    nameMissing: 'Give it a name, so that others know what stops when it is revoked.',
    preset: 'Rights',
    scopes: 'Scopes',
    customMeaning: 'Choose each scope yourself.',
    scopesMissing: 'Choose at least one scope.',
    keep: 'Cancel',
    submit: 'Create key',
    warning:
      'webhooks:write without orders:read can remove the webhook address, but not set one: events carry orders.',
  },
  made: {
    title: (name: string) => `Key “${name}” is live`,
    rotatedTitle: (name: string) => `“${name}” has a second live key`,
    rotatedLead:
      'Put the new key on your servers. The old one keeps working; revoke it once it has not been used for 24 hours.',
    customLead: (scopes: string) => `It may do this: ${scopes}.`,
    spends: 'Orders spend your balance.',
    id: 'Key id',
    secret: 'Secret',
    warning: 'Shown once. Lost secrets are replaced by rotating the key, never recovered.',
    stored: 'I stored the secret on my server',
    snippets: 'Use it',
    snippet: 'snippet',
  },
  rename: {
    title: 'Rename key',
    name: 'Name',
    keep: 'Cancel',
    submit: 'Rename key',
    done: (name: string) => `The key is now “${name}”`,
    doneMore: 'Its id, secret and scopes stay as they are.',
  },
  rotate: {
    title: (name: string) => `Rotate “${name}”`,
    lead: 'Makes a second key with the same name and scopes. Both work until you revoke the old one, so that your servers can change over one after the other.',
    steps: [
      'Create the second key now',
      'Put it on your servers',
      'Revoke the old key when it says “safe to revoke”',
    ],
    keep: 'Keep one key',
    confirm: 'Rotate key',
    failed: 'The key was not rotated',
  },
  revoke: {
    title: (name: string) => `Revoke “${name}”`,
    lead: 'Requests signed with it are refused from the next one on. This cannot be undone.',
    calls: 'Calls in the last 24 h',
    orders: 'Orders in the last 24 h',
    lastUsed: 'Last used',
    keep: 'Keep key',
    confirm: 'Revoke key',
    done: (name: string) => `“${name}” is revoked`,
    doneMore: 'Requests signed with it are refused now.',
    doneSoon: 'API processes refuse it within a second.',
    failed: 'The key was not revoked',
  },
  panel: {
    scopes: 'Scopes',
    use: 'Use',
    callsOf: (requests: number, orders: number) =>
      `${formatCount(requests)} calls and ${formatCount(orders)} orders in 30 days`,
    chart: 'Calls, last 30 days',
    chartSummary: (total: number) => `${formatCount(total)} calls in the last 30 days, one bar per day, UTC`,
    calls: 'Calls',
    facts: 'Facts',
    id: 'Id',
    created: 'Created',
    by: (who: string) => `by ${who}`,
    operator: 'the store',
    lastUsed: 'Last used',
    from: (address: string) => `from ${address}`,
    replaces: 'Replaces',
    replacedBy: 'Replaced by',
    revoked: 'Revoked',
    addresses: 'Addresses, last 30 days',
    noAddresses: 'It was not used in the last 30 days.',
    rotate: 'Rotate key…',
    rename: 'Rename…',
    revoke: 'Revoke key…',
    what: 'The key',
    never: 'Never used',
  },
} as const

export const tokens = {
  title: 'Command line',
  lead: 'Personal tokens for shopwire listen and shopwire orders prove. They read, never spend, and end when you leave the account.',
  what: 'Personal tokens',
  caption: 'Your personal tokens in this account, newest first',
  create: 'Create token',
  columns: {
    name: 'Token',
    rights: 'Rights',
    expires: 'Expires',
    lastUsed: 'Last used',
    status: 'Status',
    actions: 'Actions',
  },
  withLinks: 'gift links included',
  revoke: 'Revoke…',
  revokeTitle: (name: string) => `Revoke “${name}”`,
  revokeLead:
    'A command line that uses it is refused from now on. It cannot be undone; a new token can be made.',
  revokeConfirm: 'Revoke token',
  revokeKeep: 'Keep token',
  revokeOf: (name: string) => `Revoke ${name}`,
  revoked: (name: string) => `“${name}” is revoked`,
  revokedMore: 'A command line that is listening with it ends within a second or two.',
  notRevoked: 'The token was not revoked',
  empty: 'No token yet',
  emptyBody: 'A token lets your own machine follow live events while your endpoint keeps getting them.',
  rights: {
    'events:listen': [
      'Listen to events',
      'Forward live webhook events to your machine with shopwire listen.',
    ],
    'orders:prove': ['Prove orders', 'Show how often an order was charged with shopwire orders prove.'],
  } as const satisfies Record<TokenRight, readonly [string, string]>,
  form: {
    title: 'Create a personal token',
    lead: 'For your own machine. Anybody who has it can do what you choose here, in this account, until it expires.',
    name: 'Name',
    nameHint: 'The machine it is for, such as laptop',
    nameMissing: 'Give it a name, so that you know which one to revoke.',
    rights: 'Rights',
    rightsMissing: 'Choose at least one right.',
    links: 'Show gift links in events',
    linksHint:
      'Without it each link is replaced by a placeholder. With it every event that carries links leaves a row in the audit log.',
    days: 'Expires after',
    daysOf: (days: number) => (days === 1 ? '1 day' : `${days} days`),
    keep: 'Cancel',
    submit: 'Create token',
  },
  made: {
    title: (name: string) => `Token “${name}” is ready`,
    lead: (when: string) => `It works until ${when}. Put it on your machine now.`,
    token: 'Token',
    warning: 'Shown once. If you lose it, revoke it and create another.',
    stored: 'I stored the token',
    snippets: 'Use it',
  },
} as const
