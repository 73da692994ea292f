import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BASE_PATH } from '@shopwire/contract'
import { until } from '@shopwire/engines'
import { newItem, newLinks, operatorBy, signedHeaders } from '@shopwire/harness'
import { attempt } from './command.ts'
import { type Engine, IMAGES } from './engine.ts'
import type { Given } from './image.ts'
import { writeBlock } from './page.ts'
import { FOLDERS, ROOT, WORK } from './root-folders.ts'
import { firstOperatorToken, newStore, type Store } from './store.ts'

const MACHINE = 'shopwire-proof-machine'
const IMAGE = 'shopwire-proof/systemd'
const UNITS = ['shopwire-api@8080', 'shopwire-worker@1', 'shopwire-dashboard'] as const
/** What systemd needs beyond the engine's default; a privileged container would get far more. */
const CAPABILITIES = ['SYS_ADMIN', 'SYS_PTRACE', 'DAC_READ_SEARCH']
const SOON_MS = 60_000
const SECRETS = ['owner_url', 'api_url', 'worker_url', 'operator_url', 'dashboard_url', 'encryption_keys']

/**
 * The units as they are in deploy/systemd, run by Debian's systemd in a container that stands for a machine: migrated, started, sold
 * from, stopped. PostgreSQL is the one of the compose file.
 */
export async function proveUnits({ engine }: Given) {
  const store = await newStore(engine, 'units')
  try {
    await store.shopwire('init')
    await store.compose('up', '-d', 'postgres')
    await startMachine(store)
    const machine = (...command: string[]) => engine.docker('exec', MACHINE, ...command)
    const systemctl = async (...args: string[]) => {
      const { code, stderr } = await attempt('docker', ['exec', MACHINE, 'systemctl', ...args], {
        env: engine.env,
      })
      if (code !== 0)
        throw new Error(
          `systemctl ${args.join(' ')}: ${stderr}${await machine('journalctl', '--no-pager', '--lines=40')}`,
        )
    }
    await machine(
      'systemd-analyze',
      'verify',
      ...UNITS.map((unit) => `${unit}.service`),
      'shopwire-migrate.service',
    )
    const scores = await scoresOf(engine)
    await systemctl('start', 'shopwire-migrate')
    await systemctl('enable', '--now', 'shopwire.target', ...UNITS)
    await sell(engine)
    const journal = await machine('sh', '-c', 'ls /var/lib/shopwire/journal')
    assert.notEqual(journal, '', 'the worker writes its journal')
    await systemctl('start', 'shopwire-verify')
    await systemctl('stop', 'shopwire.target')
    for (const unit of UNITS) {
      const state = async () =>
        (await machine('systemctl', 'show', '--property=ActiveState,Result,ExecMainStatus', unit))
          .trim()
          .split('\n')
          .sort()
          .join(' ')
      // The command waits for the target, and not for what stops with it.
      await until(
        async () => (await state()).includes('ActiveState=inactive'),
        SOON_MS,
        () => `${unit} does not stop`,
      )
      assert.equal(await state(), 'ActiveState=inactive ExecMainStatus=0 Result=success')
    }
    await writeBlock('systemd', [
      '| Unit | `systemd-analyze security` |',
      '|---|---|',
      ...scores.map(([unit, score]) => `| \`${unit}\` | ${score} |`),
    ])
    return { scores }
  } finally {
    await attempt('docker', ['rm', '--force', '--volumes', MACHINE], { env: engine.env })
    await store.remove()
  }
}

/** A Debian with systemd as its first process, what assemble.ts made, the units, the settings and the secrets. */
async function startMachine(store: Store): Promise<void> {
  const { docker } = store.engine
  const context = join(WORK, 'machine')
  await rm(context, { recursive: true, force: true })
  await mkdir(join(context, 'etc/shopwire/secrets'), { recursive: true })
  await cp(join(ROOT, 'deploy/systemd'), join(context, 'etc/systemd/system'), { recursive: true })
  await cp(FOLDERS.app, context, { recursive: true })
  await writeFile(
    join(context, 'etc/shopwire/shopwire.env'),
    [
      'SHOPWIRE_API_URL=http://localhost:8080/v1',
      'SHOPWIRE_DASHBOARD_ORIGIN=http://localhost:8100',
      'SHOPWIRE_PLAINTEXT_HOSTS=postgres',
      '',
    ].join('\n'),
  )
  for (const name of SECRETS)
    await writeFile(
      join(context, 'etc/shopwire/secrets', name),
      await readFile(join(store.folder, 'secrets', name)),
      { mode: 0o600 },
    )
  const lines = [
    `FROM ${IMAGES.services}`,
    'RUN useradd --system --no-create-home shopwire && rm -f /etc/systemd/system/multi-user.target.wants/*',
    'COPY . /',
    'STOPSIGNAL SIGRTMIN+3',
    // What a machine has when systemd starts, and a container has not: a writable part of the cgroup hierarchy, and shared mounts,
    // without which the credentials of a unit are mounted where no unit sees them.
    'CMD ["sh", "-c", "mount --make-rshared / && mount -o remount,rw /sys/fs/cgroup && (mount -o remount,rw /sys/fs/cgroup/systemd || true) && exec /lib/systemd/systemd"]',
  ]
  await writeFile(join(context, 'Dockerfile'), lines.join('\n'))
  await docker('build', '--quiet', '--tag', IMAGE, context)
  const network = `${(await readFile(join(store.folder, '.env'), 'utf8')).match(/^COMPOSE_PROJECT_NAME=(.*)$/m)?.[1]}_default`
  const capabilities = CAPABILITIES.flatMap((name) => ['--cap-add', name])
  const open = ['seccomp=unconfined', 'apparmor=unconfined'].flatMap((option) => ['--security-opt', option])
  const folders = ['/run', '/run/lock', '/tmp'].flatMap((path) => ['--tmpfs', path])
  const options = ['--detach', '--name', MACHINE, '--cgroupns', 'private', '--network', network]
  await docker('run', ...options, ...capabilities, ...open, ...folders, IMAGE)
  let shown = ''
  await until(
    async () => {
      const asked = ['exec', MACHINE, 'systemctl', 'is-system-running']
      shown = (await attempt('docker', asked, { env: store.engine.env })).stdout
      return /running|degraded/.test(shown)
    },
    SOON_MS,
    () => `systemd does not come up: ${shown}`,
  ).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await docker('logs', MACHINE)}`)
  })
}

async function scoresOf({ docker }: Engine): Promise<[string, string][]> {
  const files = (await readdir(join(ROOT, 'deploy/systemd')))
    .filter((name) => name.endsWith('.service'))
    .sort()
  return Promise.all(
    files.map(async (file): Promise<[string, string]> => {
      const path = `/etc/systemd/system/${file}`
      const printed = await docker(
        'exec',
        MACHINE,
        'systemd-analyze',
        'security',
        '--offline=yes',
        '--no-pager',
        path,
      )
      return [file, /exposure level.*: ([\d.]+ \w+)/.exec(printed)?.[1] ?? '']
    }),
  )
}

/** The operator's command with the same secrets, an order by the API's port, delivered by the worker. */
async function sell({ docker, env }: Engine): Promise<void> {
  const settings = [
    ...['--env', 'SHOPWIRE_DATABASE_URL_FILE=/etc/shopwire/secrets/operator_url'],
    ...['--env', 'SHOPWIRE_ENCRYPTION_KEYS_FILE=/etc/shopwire/secrets/encryption_keys'],
    ...['--env', 'SHOPWIRE_PLAINTEXT_HOSTS=postgres'],
  ]
  const run = (...args: string[]) =>
    attempt('docker', ['exec', ...settings, MACHINE, 'shopwire', 'admin', ...args], { env })
  settings.push('--env', `SHOPWIRE_OPERATOR_TOKEN=${await firstOperatorToken(run)}`)
  const operator = operatorBy({
    run,
    async withFile(content, use) {
      const path = '/root/input'
      const { code } = await attempt('docker', ['exec', '-i', MACHINE, 'sh', '-c', `cat >${path}`], {
        env,
        input: content,
      })
      assert.equal(code, 0)
      return use(path)
    },
  })
  const address = (
    await docker('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', MACHINE)
  ).trim()
  const item = newItem(250)
  await operator.importItems([item])
  await operator.loadPool(item.id, newLinks(1))
  const { key } = await operator.createAccount({ balanceCents: 1_000 })
  const ask = async (method: string, target: string, body = '') => {
    const answer = await fetch(`http://${address}:8080${target}`, {
      method,
      headers: { 'content-type': 'application/json', ...signedHeaders(key, method, target, body) },
      ...(body !== '' && { body }),
    })
    const text = await answer.text()
    assert.ok(answer.ok, `${method} ${target}: ${answer.status} ${text}`)
    return JSON.parse(text) as { id: string; status: string }
  }
  const { id } = await ask(
    'POST',
    `${BASE_PATH}/orders`,
    JSON.stringify({ idempotency_key: 'sold-by-units', items: [{ id: item.id, qty: 1 }] }),
  )
  await until(
    async () => (await ask('GET', `${BASE_PATH}/orders/${id}`)).status === 'delivered',
    SOON_MS,
    () => `${id} is not delivered by the worker's unit`,
  )
  const page = await (await fetch(`http://${address}:8100/`)).text()
  assert.match(page, /Shopwire/)
}
