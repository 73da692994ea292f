import { fileURLToPath } from 'node:url'
import { expectPage, openConsole, playPage, type Step } from '@shopwire/test-kit/pages/console-page'
import { provisionDatabase, startPostgres } from '@shopwire/test-kit/servers'
import {
  loginSettings,
  ownerSettings,
  START_MS_MAX,
  sharedSettings,
  startWorker,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { test } from 'vitest'

/**
 * docs/first-day.md is what an operator sees who starts from an empty database. Here the same commands are run, and the page
 * must say what they print, ids and times aside. SHOPWIRE_WRITE_DOCS=1 writes it anew.
 */
const PAGE = fileURLToPath(new URL('../../docs/first-day.md', import.meta.url))

const FILES = {
  'catalogue.csv': [
    'id,name,type,collection,price_cents,image,available_until,for_sale',
    '1144058340327047001,Aurora Ring,decoration,Northern Lights,499,https://images.example/aurora.png,,true',
    '1144058340328047004,Solar Wind,effect,Northern Lights,799,,,true',
  ],
  'new-prices.csv': [
    'id,name,type,collection,price_cents',
    '1144058340327047001,Aurora Ring,decoration,Northern Lights,549',
    '1144058340328047004,Solar Wind,effect,Northern Lights,799',
    '1.14406E+18,Polar Night,nameplate,Northern Lights,599',
  ],
  'ring-links.txt': [
    'https://gift.example/r-7f3a',
    'https://gift.example/r-91bc',
    'https://gift.example/r-0d42',
  ],
}

const STEPS: readonly Step[] = [
  `# A first day

From an empty database to a store that sells, and its first refund. \`shopwire-admin\` reads its settings from the
environment ([configuration](configuration.md)); in a clone it is \`node service/bin/admin.ts\`.

## Who acts

The first person adds themselves ([operators](operating.md#operators)):`,
  { $: 'shopwire-admin migrate 2>/dev/null' },
  { $: 'shopwire-admin operators add alex@example.com' },
  `Put the token into a file that only you can read, and its path into \`SHOPWIRE_OPERATOR_TOKEN_FILE\`.

## The catalogue`,
  { $: 'cat catalogue.csv' },
  'Preview the changes, then apply them:',
  { $: 'shopwire-admin catalogue import catalogue.csv --dry-run' },
  { $: 'shopwire-admin catalogue import catalogue.csv | tail -1' },
  `The first item is sold from links in stock. The second one has no source, so an operator has to deliver it.`,
  { $: 'shopwire-admin pool load 1144058340327047001 ring-links.txt' },
  { $: 'shopwire-admin supply set 1144058340327047001 --warn-below 2' },
  { $: 'shopwire-admin pool levels' },
  '## A customer',
  { $: 'shopwire-admin accounts create "Acme Bots"', name: 'account' },
  { $: 'shopwire-admin accounts fund {account} 50.00 --reference wire-2026-118' },
  { $: 'shopwire-admin keys create {account} --name production --scopes ordering | grep -v Secret' },
  `Its server buys with that key over HTTP ([orders](guides/buy-exactly-once.md#orders)). An operator can buy for it too,
by the same rules:`,
  { $: 'shopwire-admin orders place {account} 1144058340327047001:2:499 --key first-order' },
  { $: 'shopwire-admin orders place {account} 1144058340327047001:2:499 --key first-order' },
  { $: 'shopwire-admin orders place {account} 1144058340328047004 --key second-order', name: 'wind' },
  `## Delivery

A worker delivers what it can and reports what it cannot:`,
  { $: 'shopwire-admin orders waiting', until: /WHY\n.*by hand\s*$/ },
  { $: 'shopwire-admin pool levels --low', until: /LOW/ },
  'The second item turns out to be unavailable. Cancelling returns the money in the same commit:',
  { $: 'shopwire-admin orders cancel {wind} --reason "the maker has stopped"' },
  { $: 'shopwire-admin orders waiting', until: /Nothing waits/ },
  '## Where every cent went',
  { $: 'shopwire-admin accounts statement {account}' },
  { $: 'shopwire-admin verify 2>/dev/null | tail -1' },
  `## Is all well?

The whole store on one page. Here one pool has fewer links than its mark:`,
  { $: 'shopwire-admin status' },
  `## A damaged file

A spreadsheet has changed the ids in this file. The whole file is rejected:`,
  { $: 'shopwire-admin catalogue import new-prices.csv' },
  '## Closing for the night',
  {
    $: 'shopwire-admin store plan --from 2099-12-24T22:00:00Z --for 2h --reason "stock-taking"',
    name: 'window',
  },
  { $: 'shopwire-admin store show' },
  { $: 'shopwire-admin audit --limit 2' },
]

test('docs/first-day.md shows exactly what its commands print', { timeout: START_MS_MAX }, async () => {
  const postgres = await startPostgres()
  let worker: WorkerProcess | undefined
  try {
    const database = await provisionDatabase(postgres, 'shopwire')
    const settings = sharedSettings()
    const operator: Record<string, string> = {
      ...settings,
      ...loginSettings(database, 'operator'),
      ...ownerSettings(database),
      SHOPWIRE_OPERATOR_IDENTITY: 'required',
    }
    const shell = await openConsole(operator, FILES)
    // As the page says, from then on it is in the settings; on the page it is not.
    const run = async (command: string) => {
      const printed = await shell.run(command)
      const [token] = /^swo_\S+$/m.exec(printed) ?? []
      if (token === undefined) return printed
      operator.SHOPWIRE_OPERATOR_TOKEN = token
      return printed.replace(token, '(not shown here)')
    }
    // The worker begins where the page first waits for it.
    const onFirstWait = async () => {
      worker = await startWorker({ ...settings, ...loginSettings(database, 'worker') })
    }
    const page = await playPage({ run }, STEPS, { onFirstWait })
    await shell.close()
    await expectPage(PAGE, page)
  } finally {
    await worker?.kill('SIGTERM')
    await postgres.stop()
  }
})
