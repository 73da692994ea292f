import assert from 'node:assert/strict'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { faultOf } from '../conformance/receiver.ts'
import { attempt } from './command.ts'
import type { Given } from './image.ts'
import { writeBlock } from './page.ts'
import { ROOT, WORK } from './root-folders.ts'
import { newStore } from './store.ts'
import { type Followed, follow, type Step } from './transcript.ts'

const ITEM = '1144058340327047001'
const SOON_MS = 60_000
/** The aim: of the ten minutes that a new operator needs, the machine may take two. */
const MACHINE_S_MAX = 120

const STEPS: readonly (Step | string)[] = [
  { $: './shopwire init' },
  { $: './shopwire up' },
  'Commands that change something are recorded under the name of a person. The first one makes you the first operator; your token is shown this once, and\n`./shopwire` reads it from your home.',
  { $: './shopwire admin operators add alex@example.com', reads: { token: /swo_[\w-]+/ } },
  {
    $: 'umask 077; mkdir -p ~/.config/shopwire; cat >~/.config/shopwire/operator-token',
    types: 'token',
  },
  'Something to sell: one item, and three links for its pool. Commands read files from `files/`.',
  {
    $: `cat >files/catalogue.csv <<'END'
id,name,type,collection,price_cents
${ITEM},Aurora Ring,decoration,Northern Lights,499
END
printf 'https://gift.example/%s\\n' one two three >files/links.txt`,
  },
  { $: './shopwire admin catalogue import catalogue.csv --yes' },
  { $: `./shopwire admin pool load ${ITEM} links.txt` },
  'The first customer, with a balance and a key. The secret is shown this once.',
  { $: './shopwire admin accounts create "Acme Bots"', reads: { account: /acct_\w+/ } },
  { $: './shopwire admin accounts fund {account} 50.00 --reference wire-1' },
  {
    $: './shopwire admin keys create {account} --name production --scopes all',
    reads: { key: /key_\w+/, secret: /Secret\s+(\S+)/ },
  },
  'What the customer does, on a server of theirs: store the key, name the address of their webhook receiver, buy.',
  {
    $: 'npx @shopwire/cli profile add acme --base-url http://localhost:8080/v1 --key-id {key} --use',
    types: 'secret',
  },
  { $: 'npx @shopwire/cli webhook set {receiver}', reads: { webhookSecret: /(whsec_\S+)/ } },
  {
    $: `npx @shopwire/cli orders create --item ${ITEM}:1 --key first-order --yes`,
    reads: { order: /ord_\w+/ },
  },
  { $: 'npx @shopwire/cli orders wait {order}' },
  'The receiver has accepted both events, and the books add up:',
  { $: './shopwire admin webhooks log {account}', until: /order\.delivered\s+delivered/ },
  { $: './shopwire admin verify 2>/dev/null | tail -1' },
]

export interface Installed {
  readonly machine_s: number
  readonly up_s: number
  readonly commands: number
}

/**
 * From an empty folder to a delivered order whose webhook was accepted, by the commands of the install page. Writes them there with
 * what they printed.
 */
export async function install({ engine, authority, receiver }: Given): Promise<Installed> {
  const store = await newStore(engine, 'install', authority)
  const inbox = receiver.open()
  const values: Record<string, string> = { receiver: inbox.url }
  const env = {
    ...engine.env,
    USER: 'alex',
    HOME: store.folder,
    XDG_CONFIG_HOME: join(store.folder, '.config'),
    PATH: `${await folderWithNpx()}:${process.env.PATH}`,
  }
  const load = loadavg()[0]?.toFixed(1)
  let followed: Followed
  try {
    followed = await follow(STEPS, {
      values,
      secrets: ['secret', 'webhookSecret', 'token'],
      run: (command, input) =>
        attempt('sh', ['-c', `exec 2>&1\n${command}`], { cwd: store.folder, env, input }),
      shown: (printed) => printed.replaceAll(store.folder, '/home/alex'),
    })
    const event = await inbox.event(
      'order.delivered',
      ({ json }) => json?.event === 'order.delivered',
      SOON_MS,
    )
    assert.equal(faultOf(values.webhookSecret ?? '', event), undefined, 'the webhook is signed')
  } finally {
    await store.remove()
  }
  const { lines, times } = followed
  const seconds = (some: typeof times) => Math.round(some.reduce((sum, { ms }) => sum + ms, 0) / 1000)
  const commands = times.length
  const installed = {
    machine_s: seconds(times),
    up_s: seconds(times.filter(({ command }) => command === './shopwire up')),
    commands,
  }
  const table = times.map(
    ({ command, ms }) => `| \`${command.split('\n')[0]}\` | ${(ms / 1000).toFixed(1)} |`,
  )
  await writeBlock('compose', [
    ...lines,
    `The machine worked ${installed.machine_s} s on these ${commands} commands, ${installed.up_s} s of them on \`up\`; ${availableParallelism()} cores with a load of ${load} at the beginning. The rest of the ten minutes is for reading and typing.`,
    '',
    '| Command | Seconds |',
    '|---|---|',
    ...table,
  ])
  // Written before it is judged: a run that was too slow shows in the page.
  assert(
    installed.machine_s < MACHINE_S_MAX,
    `the commands took ${installed.machine_s} s of ${MACHINE_S_MAX}`,
  )
  return installed
}

/** The packages are not published yet: here `npx @shopwire/cli` runs the command line of this repository. */
export async function folderWithNpx(): Promise<string> {
  const folder = join(WORK, 'bin')
  await mkdir(folder, { recursive: true })
  const cli = join(ROOT, 'cli/bin/shopwire.ts')
  await writeFile(join(folder, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${cli}' "$@"\n`)
  await chmod(join(folder, 'npx'), 0o755)
  return folder
}
