import assert from 'node:assert/strict'
import { join } from 'node:path'
import { faultOf } from '../../conformance/receiver.ts'
import { attempt, run } from './command.ts'
import { makeBackupImage, makeLaterReleases } from './engine.ts'
import { eventually } from './eventually.ts'
import { firstOperator, firstOrder, SECRETS } from './first-day.ts'
import type { Given } from './image.ts'
import { folderWithNpx } from './npx.ts'
import { writeBlock } from './page.ts'
import { newStore, type Store } from './store.ts'
import { follow, type Part, type Player, type Step } from './transcript.ts'

const SOON_MS = 60_000
/** The aim: of the ten minutes that a new operator needs, the machine may take two. */
const MACHINE_S_MAX = 120
const ALERTS = ['ShopwireBackupStale', 'ShopwireRestoreTestStale']

const WAY = { admin: './shopwire admin', writes: 'files/', reads: '', api: 'http://localhost:8080' }

const INSTALL: readonly (Step | string)[] = [
  { $: './shopwire init --image shopwire:0.1.0' },
  { $: './shopwire up' },
  ...firstOperator(WAY),
]

const BACKUPS: readonly (Step | string)[] = [
  {
    $: `install -d -o 999 -g 999 -m 700 /mnt/backups
echo COMPOSE_FILE=compose.yaml:compose.backup.yaml >>.env
echo BACKUP_REPOSITORY=/mnt/backups >>.env`,
  },
  { $: './shopwire up' },
  { $: './shopwire compose run --rm backup init --pgdata /var/lib/postgresql/18/docker' },
]
const RESTORE_TEST: readonly Step[] = [
  { $: './shopwire admin backup status || true', until: /restore test +\d/ },
]

const UPGRADE: readonly (Step | string)[] = [
  { $: './shopwire upgrade shopwire:0.2.0', prints: /Every process runs 0\.2\.0/ },
]
const AND_BACK: readonly Step[] = [
  { $: './shopwire upgrade shopwire:0.3.0', code: 1, prints: /went back to shopwire:0\.2\.0/ },
  { $: './shopwire rollback', prints: /Every process runs 0\.1\.0/ },
]

const RESTORE: readonly (Step | string)[] = [
  'Which seconds can be restored; then the restore, to `latest` or to a second such as `2026-11-17T12:30:00Z`:',
  { $: './shopwire compose run --rm backup status || true', prints: /restorable +every second/ },
  { $: './shopwire restore latest 2>/dev/null', prints: /Restored/ },
]
const OPENED: readonly Step[] = [
  { $: './shopwire admin recover status', reads: { identity: /--identity (\S+)/ } },
  { $: './shopwire admin recover compare --apply | tail -3' },
  { $: './shopwire admin recover open --identity {identity}', prints: /The store is open/ },
  { $: './shopwire admin verify 2>/dev/null | tail -1', prints: /All \d+ rules hold/ },
  { $: './shopwire compose run --rm backup full' },
  { $: 'curl --silent http://localhost:8080/v1/status', until: /"status":"operational"/ },
]

/** What the pages say, in the order in which a store lives, with Compose. */
export const COMPOSE_PAGES: readonly Part[] = [
  { page: 'docs/self-hosting/install.md', name: 'compose', steps: INSTALL, unshown: firstOrder(WAY) },
  { page: 'docs/self-hosting/backups.md', name: 'compose-backups', steps: BACKUPS, unshown: RESTORE_TEST },
  { page: 'docs/self-hosting/upgrading.md', name: 'compose-upgrade', steps: UPGRADE, unshown: AND_BACK },
  { page: 'docs/runbooks/restore.md', name: 'compose-restore', steps: RESTORE, unshown: OPENED },
]

/**
 * One store with Compose, from an empty folder to a restored one, by the commands of the pages as they are written there. Writes into them
 * what the commands printed.
 */
export async function proveCompose({ engine, receiver }: Given) {
  const { env: postgres } = await makeBackupImage(engine)
  await makeLaterReleases(engine)
  // Of this mount namespace, and gone with it.
  await run('mount', ['-t', 'tmpfs', 'none', '/mnt'])
  const store = await newStore(engine, 'compose', postgres)
  const inbox = receiver.open()
  const env = {
    ...store.env,
    USER: 'alex',
    HOME: store.folder,
    XDG_CONFIG_HOME: join(store.folder, '.config'),
    PATH: `${await folderWithNpx()}:${process.env.PATH}`,
  }
  const player: Player = {
    values: { receiver: inbox.url },
    secrets: SECRETS,
    run: (command, input) =>
      attempt('sh', ['-c', `exec 2>&1\n${command}`], { cwd: store.folder, env, input }),
    shown: (printed) => printed.replaceAll(store.folder, '/home/alex'),
  }
  const seconds: Record<string, number> = {}
  try {
    for (const { page, name, steps, unshown = [] } of COMPOSE_PAGES) {
      const shown = await follow(steps, player)
      await writeBlock(name, shown.lines, page)
      const { times } = await follow(unshown, player)
      seconds[name] = Math.round([...shown.times, ...times].reduce((sum, { ms }) => sum + ms, 0) / 1000)
      if (name === 'compose') {
        const event = await inbox.event(
          'order.delivered',
          ({ json }) => json?.event === 'order.delivered',
          SOON_MS,
        )
        assert.equal(faultOf(player.values.webhookSecret ?? '', event), undefined, 'the webhook is signed')
        assert((seconds.compose ?? 0) < MACHINE_S_MAX, `the commands took ${seconds.compose} s`)
        await startMonitoring(store)
        await alerts('fire', (firing) => ALERTS.every((alert) => firing.includes(alert)))
      }
      if (name === 'compose-backups') {
        await startMonitoring(store)
        await alerts('end', (firing) => !ALERTS.some((alert) => firing.includes(alert)))
      }
    }
    return seconds
  } finally {
    await store.remove()
  }
}

/** Without Grafana, which Debian does not have, and Alertmanager, which only sends what is seen here. Again after the files changed. */
async function startMonitoring(store: Store) {
  await store.compose('up', '-d', '--no-deps', 'prometheus', 'node-exporter')
}

async function alerts(what: string, isSo: (firing: readonly string[]) => boolean) {
  await eventually(`the alerts of backups ${what}`, async () => {
    const answer = await fetch('http://127.0.0.1:9090/api/v1/alerts')
    const { data } = (await answer.json()) as {
      data: { alerts: { state: string; labels: { alertname: string } }[] }
    }
    const firing = data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
    assert(isSo(firing), `firing: ${firing.join(', ')}`)
  })
}
