import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  canMakePublicNetwork,
  isInPublicNetwork,
  NO_PUBLIC_NETWORK,
  runAgainInPublicNetwork,
} from '@shopwire/test-kit/servers'
import { Accounts } from './accounts.ts'
import { type Outcome, runChecks } from './check.ts'
import { furnishEmulator } from './emulated.ts'
import type { Allowed, Fixtures } from './fixtures.ts'
import { checks, groups } from './groups/index.ts'
import { startPrivateSystem, stores } from './private-system.ts'
import { startReceiver } from './receiver.ts'
import { asText, type Section, totalsOf, writeReports } from './report.ts'
import { baseOf } from './tools.ts'

const HELP = `npm run conformance                     a private service on both admission stores, everything
npm run conformance -- [options]

  --base-url URL         check this server, which is not ours to start; ends in /v1
  --emulator URL         check an emulator that runs there, such as http://127.0.0.1:4010, with everything it can do
  --key ID --secret S    a key with all scopes
  --shop FILE            more keys and items, as JSON (see conformance/README.md)
  --spend                buying is allowed: it spends balance
  --webhooks             changing the webhook endpoint is allowed
  --limits               using up the rate limits is allowed
  --receiver-url URL     how the server reaches the receiver, with --receiver-listen HOST:PORT,
                         --receiver-cert FILE and --receiver-key FILE
  --only TEXT            only checks whose id begins with one of these, separated by commas
  --store NAME           of the private service: postgres or redis only
  --pooled               the private service connects to PostgreSQL through PgBouncer
  --report-dir FOLDER    also write conformance.xml (JUnit) and conformance.html
  --list                 print all checks as JSON and stop
`

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    list: { type: 'boolean' },
    'base-url': { type: 'string' },
    emulator: { type: 'string' },
    key: { type: 'string' },
    secret: { type: 'string' },
    shop: { type: 'string' },
    spend: { type: 'boolean' },
    webhooks: { type: 'boolean' },
    limits: { type: 'boolean' },
    'receiver-url': { type: 'string' },
    'receiver-listen': { type: 'string' },
    'receiver-cert': { type: 'string' },
    'receiver-key': { type: 'string' },
    only: { type: 'string' },
    store: { type: 'string' },
    pooled: { type: 'boolean', default: false },
    'report-dir': { type: 'string' },
  },
})

const chosen = checks.filter(
  ({ id }) => values.only === undefined || values.only.split(',').some((start) => id.startsWith(start)),
)

if (values.help) process.stdout.write(HELP)
else if (values.list) process.stdout.write(`${JSON.stringify(listed())}\n`)
else if (values.emulator !== undefined) await checkEmulator(new URL(values.emulator).origin)
else if (values['base-url'] !== undefined) await checkOther(values['base-url'])
else if (!isInPublicNetwork() && canMakeNetwork()) process.exitCode = await runAgainInPublicNetwork()
else await checkPrivate()

function listed() {
  return groups.map(({ name, title, checks: own }) => ({
    name,
    title,
    checks: own.map(({ id, title: says, proves, needs }) => ({ id, title: says, proves, needs })),
  }))
}

async function checkOther(url: string): Promise<void> {
  const { key: id, secret, shop: file } = values
  const named = file === undefined ? {} : (JSON.parse(readFileSync(file, 'utf8')) as Partial<Fixtures>)
  const first = id !== undefined && secret !== undefined ? [{ id, secret, account: 'first' }] : []
  const receiver = await receiverOf()
  const fixtures: Fixtures = {
    ...named,
    buyers: [...first, ...(named.buyers ?? [])],
    ...(receiver && { receiver }),
  }
  if (fixtures.buyers.length === 0)
    throw new Error('--key and --secret are needed, or "buyers" in the --shop file')
  const allowed = {
    spend: values.spend ?? false,
    webhooks: values.webhooks ?? false,
    limits: values.limits ?? false,
  }
  conclude([await checkAt(url, url, fixtures, allowed)])
  await receiver?.close()
}

async function checkEmulator(origin: string): Promise<void> {
  const fixtures = await furnishEmulator(origin)
  const allowed = { spend: true, webhooks: true, limits: true }
  conclude([await checkAt(`emulator at ${origin}`, `${origin}/v1`, fixtures, allowed)])
  await fixtures.receiver?.close()
}

async function receiverOf() {
  const {
    'receiver-url': url,
    'receiver-listen': listen,
    'receiver-cert': cert,
    'receiver-key': key,
  } = values
  if (url === undefined) return undefined
  if (listen === undefined || cert === undefined || key === undefined) {
    throw new Error('--receiver-url needs --receiver-listen, --receiver-cert and --receiver-key')
  }
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(listen) ?? []
  return startReceiver({
    url,
    host,
    port: Number(port),
    cert: readFileSync(cert, 'utf8'),
    key: readFileSync(key, 'utf8'),
  })
}

/** Events go to public addresses only, so all of it runs in a network in which a public address is this machine. */
function canMakeNetwork(): boolean {
  const isPossible = canMakePublicNetwork()
  if (!isPossible) {
    process.stderr.write(`SKIPPED: ${NO_PUBLIC_NETWORK}. Events are not checked.\n`)
  }
  return isPossible
}

async function checkPrivate(): Promise<void> {
  process.stderr.write('starting a private system with items, links and accounts\n')
  const service = await startPrivateSystem({ isPooled: values.pooled })
  try {
    const sections: Section[] = []
    for (const store of stores.filter((name) => values.store === undefined || values.store === name)) {
      const { url, fixtures } = await service.on(store)
      const allowed = { spend: true, webhooks: true, limits: true }
      sections.push(await checkAt(`private service, admission in ${store}`, url, fixtures, allowed))
    }
    conclude(sections)
  } finally {
    await service.stop()
  }
}

async function checkAt(name: string, url: string, fixtures: Fixtures, allowed: Allowed): Promise<Section> {
  const startedMs = performance.now()
  let done = 0
  const onOutcome = ({ result, check }: Outcome) => {
    done += 1
    if (result === 'failed') process.stderr.write(`FAILED ${check.id}\n`)
    if (done % 50 === 0) process.stderr.write(`${done} of ${chosen.length} checks done\n`)
  }
  const accounts = new Accounts(fixtures.buyers)
  const outcomes = await runChecks({
    base: baseOf(url),
    fixtures,
    allowed,
    checks: chosen,
    accounts,
    onOutcome,
  })
  const section = { name, outcomes, seconds: (performance.now() - startedMs) / 1000 }
  process.stdout.write(asText(section, groups))
  return section
}

function conclude(sections: Section[]): void {
  if (values['report-dir'] !== undefined) writeReports(values['report-dir'], sections, groups)
  const totals = totalsOf(sections.flatMap(({ outcomes }) => outcomes))
  process.stdout.write(`${JSON.stringify(totals)}\n`)
  if (totals.failed > 0) process.exitCode = 1
}
