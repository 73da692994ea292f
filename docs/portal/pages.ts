import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Pages outside docs/, where readers of the repository expect them. The portal shows them too. */
export const PAGES_OUTSIDE_DOCS: Readonly<Record<string, string>> = {
  'ARCHITECTURE.md': 'architecture.md',
  'CHANGELOG.md': 'reference/changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'contract/vectors/README.md': 'reference/vectors.md',
  'deploy/README.md': 'deploy.md',
  'emulator/README.md': 'reference/emulator.md',
  'examples/README.md': 'guides/examples.md',
  'sdk/README.md': 'reference/sdk.md',
}

/** Files that pages link to and that are not pages themselves. */
export const DOWNLOADS: Readonly<Record<string, string>> = {
  'contract/vectors/request-signing.json': 'vectors/request-signing.json',
  'contract/vectors/webhook-signing.json': 'vectors/webhook-signing.json',
  'docs/growth.svg': 'growth.svg',
  'docs/images/dashboard-balance-light.webp': 'dashboard-balance-light.webp',
  'docs/images/dashboard-delivery-light.webp': 'dashboard-delivery-light.webp',
  'docs/images/dashboard-home-dark.webp': 'dashboard-home-dark.webp',
  'docs/images/dashboard-home-light.webp': 'dashboard-home-light.webp',
  'docs/images/dashboard-keys-dark.webp': 'dashboard-keys-dark.webp',
  'docs/images/dashboard-order-dark.webp': 'dashboard-order-dark.webp',
  'docs/images/emulator-page.png': 'emulator-page.png',
  'docs/ratios.svg': 'ratios.svg',
}

interface Entry {
  readonly text: string
  /** Without `.md`; a folder ends in a slash. */
  readonly link: string
}

/** Pages of docs/self-hosting in the order in which an operator needs them; a page that is not named here comes after them. */
const SELF_HOSTING = [
  'README',
  'install',
  'kubernetes',
  'network',
  'encryption-keys',
  'checklist',
  'high-availability',
  'backups',
  'upgrading',
  'supply-chain',
  'privacy',
]

/** The order of pages in the sidebar, in llms.txt and in llms-full.txt. Other pages are found by links and search. */
export const SECTIONS: readonly { readonly text: string; readonly items: readonly Entry[] }[] = [
  {
    text: 'Start',
    items: [
      { text: 'Five minutes', link: 'start/five-minutes' },
      { text: 'Concepts', link: 'start/concepts' },
    ],
  },
  {
    text: 'Guides',
    items: [
      { text: 'Sign a request', link: 'guides/sign-a-request' },
      { text: 'Buy exactly once', link: 'guides/buy-exactly-once' },
      { text: 'Sync the catalogue', link: 'guides/sync-the-catalogue' },
      { text: 'Receive webhooks', link: 'guides/receive-webhooks' },
      { text: 'The dashboard', link: 'guides/dashboard' },
      { text: 'Keys, secrets, tokens', link: 'guides/keys-and-tokens' },
      { text: 'Recover after an outage', link: 'guides/recover-after-an-outage' },
      { text: 'Test and go live', link: 'guides/go-live' },
    ],
  },
  {
    text: 'Tools',
    items: [
      { text: 'Emulator', link: 'reference/emulator' },
      { text: 'SDK', link: 'reference/sdk' },
      { text: 'Command line', link: 'reference/command-line' },
      { text: 'Examples', link: 'guides/examples' },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'Endpoints, headers, limits', link: 'reference/endpoints' },
      { text: 'Events', link: 'reference/events' },
      { text: 'Errors', link: 'reference/errors' },
      { text: 'Signature mistakes', link: 'reference/signature-mistakes' },
      { text: 'Vectors', link: 'reference/vectors' },
      { text: 'Conformance', link: 'conformance' },
      { text: 'Public names', link: 'reference/public-names' },
      { text: 'Changelog', link: 'reference/changelog' },
    ],
  },
  { text: 'Self-hosting', items: selfHosting() },
  {
    text: 'Run a store',
    items: [
      { text: 'A first day', link: 'first-day' },
      { text: 'Image and compose', link: 'deploy' },
      { text: 'Operating', link: 'operating' },
      { text: 'Database roles', link: 'database-roles' },
      { text: 'Answer a dispute', link: 'disputes' },
      { text: 'Observability', link: 'observability' },
      { text: 'Metrics', link: 'reference/metrics' },
      { text: 'Configuration', link: 'configuration' },
      { text: 'Runbooks', link: 'runbooks/' },
      { text: 'Alerts', link: 'runbooks/alerts' },
      { text: 'Restores and failover', link: 'runbooks/restore' },
      { text: 'Suppliers', link: 'suppliers' },
      { text: 'Funding', link: 'funding' },
      { text: 'Invariants and tamper evidence', link: 'invariants' },
      { text: 'Threats and faults', link: 'threats' },
      { text: 'Performance', link: 'performance' },
      { text: 'Scale and availability', link: 'scale' },
    ],
  },
  {
    text: 'Inside',
    items: [
      { text: 'Architecture', link: 'architecture' },
      { text: 'Source tour', link: 'source-tour' },
      { text: 'Decisions', link: 'decisions/' },
      { text: 'Contributing', link: 'contributing' },
      { text: 'Glossary', link: 'glossary' },
      { text: 'Security', link: 'security' },
    ],
  },
]

/** Whatever is in the folder, by its title, so that a new page needs no entry here. */
function selfHosting(): Entry[] {
  // VitePress reads a copy of this file, one folder deeper.
  const folder = ['../self-hosting/', '../../self-hosting/']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url)) as URL
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
  return names
    .toSorted((a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1))
    .map((name) => ({
      text: name === 'README' ? 'Overview' : titleOf(readFileSync(new URL(`${name}.md`, folder), 'utf8')),
      link: `self-hosting/${name === 'README' ? '' : name}`,
    }))
}

function placeOf(name: string): number {
  const place = SELF_HOSTING.indexOf(name)
  return place < 0 ? SELF_HOSTING.length : place
}

function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? ''
}
