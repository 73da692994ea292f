import assert from 'node:assert/strict'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createAuthority } from '@shopwire/test-kit/servers'
import { faultOf, type Receiver } from '../../conformance/receiver.ts'
import { firstOperator, firstOrder, SECRETS } from './first-day.ts'
import { bootMachine } from './machine.ts'
import { folderWithNpx } from './npx.ts'
import { writeBlock } from './page.ts'
import { FOLDERS, ROOT, WORK } from './root-folders.ts'
import { follow, type Part, type Player, type Step } from './transcript.ts'

const RELEASES = '/opt/shopwire/releases'
const SOON_MS = 60_000

const INSTALL: readonly (Step | string)[] = [
  {
    $: `deploy/systemd/init --release ${RELEASES}/0.1.0 --api https://api.example.com --dashboard https://dashboard.example.com`,
  },
  { $: 'systemctl start shopwire-migrate' },
  {
    $: 'systemctl enable --now shopwire.target shopwire-api@8080 shopwire-api@8090 shopwire-worker@1 shopwire-dashboard shopwire-verify.timer 2>/dev/null',
  },
  'HAProxy in front, with your certificate and its key in one file, `/etc/haproxy/shopwire.pem`:',
  {
    $: `cp deploy/proxy/haproxy.cfg /etc/haproxy/haproxy.cfg
echo HAPROXY_DASHBOARD_HOST=dashboard.example.com >>/etc/default/haproxy
systemctl restart haproxy`,
  },
  { $: 'curl --silent https://api.example.com/v1/status', until: /"status":"operational"/ },
]

const WAY = { admin: 'shopwire-admin', writes: '/tmp/', reads: '/tmp/', api: 'https://api.example.com' }
const FIRST_DAY: readonly Step[] = [
  ...firstOperator(WAY).filter((step) => typeof step !== 'string'),
  ...firstOrder(WAY),
]

const BACKUPS: readonly (Step | string)[] = [
  {
    $: `install -d -o postgres -g postgres -m 700 /etc/shopwire/backup
install -d -o postgres -g postgres -m 755 /var/lib/shopwire-backup
install -d -o postgres -g postgres -m 700 /mnt/backups
shopwire backup settings >/etc/postgresql/15/main/conf.d/shopwire-backup.conf
systemctl restart postgresql`,
  },
  { $: 'shopwire backup init --pgdata /var/lib/postgresql/15/main --repository /mnt/backups' },
  { $: 'shopwire backup test-restore 2>/dev/null', prints: /restores: 1 orders/ },
  {
    $: 'systemctl enable --now shopwire-backup-{check,diff,full,test-restore}.timer 2>/dev/null',
  },
  { $: 'shopwire-admin backup status', prints: /restorable +\S/ },
]

const UPGRADE: readonly (Step | string)[] = [
  { $: `deploy/upgrade/rolling ${RELEASES}/0.2.0`, prints: /done: every process runs 0\.2\.0/ },
]
const AND_BACK: readonly Step[] = [
  { $: `deploy/upgrade/rolling --ready 10 ${RELEASES}/0.3.0`, code: 1, prints: /went back to \S+0\.2\.0/ },
  { $: 'deploy/upgrade/rollback', prints: /done: every process runs 0\.1\.0/ },
]

const RESTORE: readonly (Step | string)[] = [
  'Stop everything that uses the database, and the old server if it still runs: it archives its last WAL file then.',
  {
    $: "systemctl stop shopwire.target 'shopwire-api@*' 'shopwire-worker@*' shopwire-dashboard postgresql@15-main",
  },
  'Which seconds can be restored; then the restore, to `latest` or to a second such as `2026-11-17T12:30:00Z`:',
  { $: 'shopwire backup status || true', prints: /restorable +every second/ },
  {
    $: `mv /var/lib/postgresql/15/main /var/lib/postgresql/15/damaged
shopwire backup restore --to latest --into /var/lib/postgresql/15/main 2>/dev/null`,
    prints: /Restored/,
  },
  { $: 'systemctl start postgresql@15-main shopwire.target' },
]
const OPENED: readonly Step[] = [
  { $: 'shopwire-admin recover status', reads: { identity: /--identity (\S+)/ } },
  { $: 'shopwire-admin recover compare' },
  { $: 'shopwire-admin recover compare --apply | tail -3' },
  { $: 'shopwire-admin recover open --identity {identity}', prints: /The store is open/ },
  { $: 'shopwire-admin verify 2>/dev/null | tail -1', prints: /All \d+ rules hold/ },
  { $: 'shopwire backup full' },
  { $: 'curl --silent https://api.example.com/v1/status', until: /"status":"operational"/ },
]

/** What the pages say, in the order in which a store lives, on one machine with systemd. */
export const SYSTEMD_PAGES: readonly Part[] = [
  { page: 'docs/self-hosting/install.md', name: 'systemd', steps: INSTALL, unshown: FIRST_DAY },
  { page: 'docs/self-hosting/backups.md', name: 'systemd-backups', steps: BACKUPS },
  { page: 'docs/self-hosting/upgrading.md', name: 'systemd-upgrade', steps: UPGRADE, unshown: AND_BACK },
  { page: 'docs/runbooks/restore.md', name: 'systemd-restore', steps: RESTORE, unshown: OPENED },
]

/**
 * One machine with Debian's systemd, PostgreSQL, HAProxy and pgBackRest, from an empty one to a restored store, by the commands of the
 * pages as they are written there. Writes into them what the commands printed.
 */
export async function proveSystemd({ authority, receiver }: { authority: string; receiver: Receiver }) {
  const inbox = receiver.open()
  const store = await createAuthority()
  const { cert, key } = await store.issue('DNS:api.example.com,DNS:dashboard.example.com')
  const certificates = join(WORK, 'certificates')
  await writeFile(`${certificates}.pem`, `${cert}${key}`)
  await cp(store.file, `${certificates}-store.pem`)
  await cp(authority, `${certificates}-receiver.pem`)
  const inside = (path: string) => path.replace(ROOT, '/srv/shopwire/')
  const machine = await bootMachine({
    PATH: `${inside(await folderWithNpx())}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    // Certificates of a public authority need none of this.
    CURL_CA_BUNDLE: inside(`${certificates}-store.pem`),
    NODE_EXTRA_CA_CERTS: inside(`${certificates}-store.pem`),
  })
  const must = async (command: string) => {
    const { code, stdout } = await machine.run(command)
    assert.equal(code, 0, `${command}\n${stdout}`)
    return stdout
  }
  const player: Player = {
    values: { receiver: inbox.url },
    secrets: SECRETS,
    run: machine.run,
  }
  try {
    await must(`mkdir -p ${RELEASES}
cp -a ${inside(FOLDERS.app)} ${RELEASES}/0.1.0
cp ${inside(certificates)}.pem /etc/haproxy/shopwire.pem
systemctl start postgresql@15-main
systemctl enable postgresql 2>/dev/null || true`)
    const seconds: Record<string, number> = {}
    const followed = (steps: readonly (Step | string)[]) =>
      follow(steps, player).catch(async (error: Error) => {
        const journal = await machine.run('journalctl --no-pager --lines=60 | cut -c1-300')
        throw new Error(`${error.message}\n${journal.stdout}`)
      })
    for (const { page, name, steps, unshown = [] } of SYSTEMD_PAGES) {
      if (name === 'systemd-upgrade') await makeLaterReleases(must)
      const shown = await followed(steps)
      await writeBlock(name, shown.lines, page)
      if (name === 'systemd') await trustReceiver(must, inside(`${certificates}-receiver.pem`))
      const { times } = await followed(unshown)
      seconds[name] = Math.round([...shown.times, ...times].reduce((sum, { ms }) => sum + ms, 0) / 1000)
      if (name === 'systemd') {
        const event = await inbox.event(
          'order.delivered',
          ({ json }) => json?.event === 'order.delivered',
          SOON_MS,
        )
        assert.equal(faultOf(player.values.webhookSecret ?? '', event), undefined, 'the webhook is signed')
      }
    }
    // What "recover open" wrote as root is the workers': after an ordinary restart the store opens by itself.
    assert.equal(await must('find /var/lib/shopwire/journal -not -user shopwire'), '')
    await must('systemctl restart postgresql')
    await follow(
      [{ $: 'shopwire-admin recover status', until: /The store is open on this database/ }],
      player,
    )
    await writeBlock('units', await scoresOf(must))
    await must('systemctl stop shopwire.target')
    return seconds
  } finally {
    await machine.remove()
    await store.remove()
  }
}

type Must = (command: string) => Promise<string>

/** The receiver of the test has a certificate of the test's own authority, which only the worker has to trust. */
async function trustReceiver(must: Must, authority: string) {
  await must(`install -m 644 ${authority} /etc/shopwire/receiver.pem
mkdir -p /etc/systemd/system/shopwire-worker@.service.d
printf '[Service]\\nEnvironment=NODE_EXTRA_CA_CERTS=/etc/shopwire/receiver.pem\\n' >/etc/systemd/system/shopwire-worker@.service.d/authority.conf
systemctl daemon-reload
systemctl restart shopwire-worker@1`)
}

/** One that differs by its version, and one whose API ends at once. */
async function makeLaterReleases(must: Must) {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  for (const later of ['0.2.0', '0.3.0'])
    await must(`cp -a ${RELEASES}/0.1.0 ${RELEASES}/${later}
sed -i 's/"version": "${version}"/"version": "${later}"/' ${RELEASES}/${later}/app/service/package.json`)
  await must(`echo 'throw new Error("a broken release")' >${RELEASES}/0.3.0/app/service/dist/api.mjs`)
}

/** What remains of the exposure of each unit, from 0 to 10. */
async function scoresOf(must: Must): Promise<string[]> {
  const lines = await must(`for unit in /etc/systemd/system/shopwire-*.service; do
  echo "$(basename "$unit") $(systemd-analyze security --offline=yes --no-pager "$unit" | sed -n 's/.*exposure level.*: \\([0-9.]* [A-Z]*\\).*/\\1/p')"
done`)
  return [
    '| Unit | `systemd-analyze security` |',
    '|---|---|',
    ...lines
      .trim()
      .split('\n')
      .map((line) => line.split(/ (.*)/))
      .map(([unit, score]) => `| \`${unit}\` | ${score} |`),
  ]
}
