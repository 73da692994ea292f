import { execFile, spawnSync } from 'node:child_process'
import { appendFile, chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { freePorts } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import { newItem, newLinks, startScript, startSystem } from '@shopwire/test-kit/systems'
import { expect, type TestContext, test } from 'vitest'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ASSEMBLE = join(ROOT, 'deploy/image/assemble.ts')
/** Owns nothing and belongs to no group that does. */
const STRANGER = 12_345

test('the files of the image sell, deliver and serve dashboard and docs in one process, as a user who may write nowhere, and stop with 0', async (context) => {
  const folder = await temporaryFolder(context)
  await mkdir(join(folder, 'portal'))
  await writeFile(join(folder, 'portal/index.html'), '<title>Docs</title>')
  await writeFile(join(folder, 'portal/.built-from.json'), '{"packages":["vue@3.5.45"]}')
  await run(process.execPath, [ASSEMBLE, join(folder, 'root'), '--docs', join(folder, 'portal')])
  const app = join(folder, 'root/app')
  await expectWholeSbom(app)
  const programs = (await readdir(join(app, 'service/dist'))).filter((name) => !name.includes('-'))
  expect(programs.sort()).toEqual([
    'admin.mjs',
    'all.mjs',
    'api.mjs',
    'backup.mjs',
    'dashboard.mjs',
    'migrate.mjs',
    'worker.mjs',
  ])

  const help = await run(process.execPath, [join(app, 'service/dist/all.mjs'), '--help'])
  expect(help.stdout).toContain('Whoever breaks into one part has the rights of all three')

  const system = await startSystem({ admission: 'postgres', apis: 0 })
  context.onTestFinished(() => system.stop())
  const [port = 0, dashboardPort = 0, healthPort = 0] = await freePorts(3)
  const store = await startScript(join(app, 'service/dist/all.mjs'), [], {
    readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
    settings: {
      ...system.settings,
      SHOPWIRE_DATABASE_URL: system.database.processUrls.api,
      SHOPWIRE_WORKER_DATABASE_URL: system.database.processUrls.worker,
      SHOPWIRE_DASHBOARD_DATABASE_URL: system.database.processUrls.dashboard,
      SHOPWIRE_PORT: String(port),
      SHOPWIRE_HEALTH_PORT: String(healthPort),
      SHOPWIRE_DASHBOARD_ORIGIN: `http://localhost:${dashboardPort}`,
      SHOPWIRE_DASHBOARD_PORT: String(dashboardPort),
      SHOPWIRE_DOCS_FOLDER: join(app, 'docs'),
    },
    uid: STRANGER,
  })
  system.owns(store)

  const shop = openShop(system)
  const item = newItem(300)
  await system.importItems([item])
  const [link = ''] = newLinks(1)
  await system.loadPool(item.id, [link])
  const buyer = await shop.openBuyer(1_000)
  const bought = await buyer.settle(port, newOrder({ id: item.id, qty: 1 }))
  expect(bought.status).toBe(201)
  await expect.poll(async () => (await buyer.readOrder(port, bought.body.id)).links).toEqual([link])
  expect(await titleOf(`http://127.0.0.1:${port}/docs/`)).toBe('Docs')
  expect(await titleOf(`http://localhost:${dashboardPort}/`)).toContain('Shopwire')
  const metrics = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text()
  for (const name of ['shopwire_orders_delivered_total 1', 'shopwire_ready 1'])
    expect(metrics).toContain(name)
  const logins = await system.query(
    `select count(distinct usename) from pg_stat_activity where application_name in ('shopwire-api', 'shopwire-worker', 'shopwire-dashboard')`,
  )
  expect(logins).toBe('3')

  expect(await store.kill('SIGTERM')).toBe(0)
  await shop.expectCleanBooks()
})

test('shopwire-admin for Kubernetes: the first operator, then commands by their token, which is in no argument, with files on standard input', async (context) => {
  const folder = await temporaryFolder(context)
  const system = await startSystem({ admission: 'postgres', apis: 0 })
  context.onTestFinished(() => system.stop())
  const bin = join(folder, 'release/usr/local/bin')
  await mkdir(bin, { recursive: true })
  await run('cp', [join(ROOT, 'deploy/image/shopwire-admin'), bin])
  const program = `#!/bin/sh\nrole=$1\nshift\nexec '${process.execPath}' '${process.env.SHOPWIRE_PROGRAMS}'/$role.mjs "$@"\n`
  await writeFile(join(bin, 'shopwire'), program, { mode: 0o755 })
  // As the pod of the chart: the settings, the login of operators, and nothing of the machine that kubectl runs on.
  const env = Object.entries(system.settingsOf('operator')).map(([name, value]) => `${name}='${value}'`)
  const kubectl = [
    '#!/bin/sh',
    `printf '%s\\n' "$*" >>'${folder}/arguments'`,
    'while [ "$1" != -- ]; do shift; done',
    'shift',
    `exec env -i PATH='${bin}:/usr/bin:/bin' HOME=/nonexistent SHOPWIRE_OPERATOR_IDENTITY=required ${env.join(' ')} "$@"`,
  ]
  await writeFile(join(folder, 'kubectl'), kubectl.join('\n'), { mode: 0o755 })
  const admin = (input: string, ...args: string[]) => {
    const ran = run(join(ROOT, 'deploy/kubernetes/shopwire-admin'), args, {
      env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder, SHOPWIRE_OPERATOR_TOKEN: '' },
    })
    ran.child.stdin?.end(input)
    return ran
  }
  const refused = await admin('', 'accounts', 'create', 'Acme').catch((error: { stderr: string }) => error)
  expect(refused.stderr).toContain('SHOPWIRE_OPERATOR_TOKEN')
  const { token } = JSON.parse((await admin('', 'operators', 'add', 'alex@example.com', '--json')).stdout)
  await mkdir(join(folder, '.config/shopwire'), { recursive: true })
  await writeFile(join(folder, '.config/shopwire/operator-token'), token)
  const item = newItem(300)
  const catalogue = `id,name,type,collection,price_cents\n${item.id},Ring,decoration,Lights,300\n`
  await admin(catalogue, 'catalogue', 'import', '-', '--yes')
  expect((await admin('https://gift.example/1\n', 'pool', 'load', item.id, '-')).stdout).toContain('holds 1')
  expect(await system.query(`select distinct actor from audit_log where action like 'pool.%'`)).toContain(
    'alex@example.com',
  )
  expect(await readFile(join(folder, 'arguments'), 'utf8')).not.toContain(token)
})

test('shopwire-admin on a machine reads the settings file literally, runs nothing that is in it, and says which line is no setting', async (context) => {
  const folder = await temporaryFolder(context)
  const bin = join(folder, 'release/usr/local/bin')
  await mkdir(bin, { recursive: true })
  await mkdir(join(folder, 'secrets'))
  await run('cp', [join(ROOT, 'deploy/image/shopwire-admin'), bin])
  await writeFile(join(bin, 'shopwire'), '#!/bin/sh\nenv; echo "arguments: $*"\n', { mode: 0o755 })
  await writeFile(join(folder, 'secrets/operator_url'), 'postgres://')
  const value = `$(touch ${folder}/executed); \`touch ${folder}/executed\``
  const settings = join(folder, 'shopwire.env')
  const admin = () =>
    run(join(bin, 'shopwire-admin'), ['accounts', 'list'], {
      env: { PATH: process.env.PATH, HOME: folder, SHOPWIRE_SETTINGS: folder },
    })
  await writeFile(settings, `# settings\nSHOPWIRE_A=${value}\nSHOPWIRE_B="two words"\nSHOPWIRE_C='x=y'\n\n`)
  const { stdout } = await admin()
  for (const line of [
    `SHOPWIRE_A=${value}`,
    'SHOPWIRE_B=two words',
    'SHOPWIRE_C=x=y',
    `SHOPWIRE_DATABASE_URL_FILE=${folder}/secrets/operator_url`,
    'SHOPWIRE_JOURNAL=/var/lib/shopwire/journal',
    'arguments: admin accounts list',
  ])
    expect(stdout.split('\n')).toContain(line)
  expect(await readdir(folder)).not.toContain('executed')
  await writeFile(settings, 'SHOPWIRE_A=1\nexport B\n')
  const refused = await admin().catch((error: { stderr: string }) => error)
  expect(refused.stderr).toContain('shopwire.env, line 2: not NAME=value.')
})

test('./shopwire refuses to leave a compose.override.yaml out, and lets an operator write the secrets that the page names', async (context) => {
  const kit = await kitFolder(context)
  await run(kit.command, ['init'])
  expect((await stat(join(kit.folder, 'secrets/smtp_url'))).mode & 0o777).toBe(0o644)
  await writeFile(join(kit.folder, 'compose.override.yaml'), 'services: {}\n')
  await appendFile(join(kit.folder, '.env'), 'COMPOSE_FILE=compose.yaml:compose.backup.yaml\n')
  const refused = await run(kit.command, ['status']).catch((error: { stderr: string }) => error)
  expect(refused.stderr).toContain(
    'Write: COMPOSE_FILE=compose.yaml:compose.backup.yaml:compose.override.yaml',
  )
})

test('./shopwire upgrade and rollback: a release that does not start goes back and is not the one to roll back to', async (context) => {
  const kit = await kitFolder(context)
  await run(kit.command, ['init', '--image', 'shopwire:0.1.0'])
  // Stands in for Docker: an image is its tag, which is the version of the programs; those of 0.3.0 do not become ready.
  const docker = `#!/bin/sh
image=\${SHOPWIRE_IMAGE:-$(sed -n 's/^SHOPWIRE_IMAGE=//p' .env)}
case "$*" in
  'compose version') ;;
  *ready) [ "$(cat running)" != 0.3.0 ] ;;
  *exec*version) cat running ;;
  *' up -d'*) [ -e stuck ] || echo "\${image#*:}" >running ;;
  *version) echo "\${image#*:}" ;;
esac
`
  await mkdir(join(kit.folder, '../bin'))
  await writeFile(join(kit.folder, '../bin/docker'), docker, { mode: 0o755 })
  await writeFile(join(kit.folder, '../bin/sleep'), '#!/bin/sh\n', { mode: 0o755 })
  const shopwire = (...args: string[]) =>
    run(kit.command, args, { env: { PATH: `${kit.folder}/../bin:${process.env.PATH}` } }).then(
      ({ stdout, stderr }) => ({ code: 0, printed: stdout + stderr }),
      ({ code, stdout, stderr }) => ({ code, printed: stdout + stderr }),
    )
  const running = async () => (await readFile(join(kit.folder, 'running'), 'utf8')).trim()
  expect(await shopwire('rollback')).toMatchObject({
    code: 1,
    printed: expect.stringContaining('no release before'),
  })
  expect(await shopwire('upgrade', 'shopwire:0.2.0')).toMatchObject({
    code: 0,
    printed: expect.stringContaining('Every process runs 0.2.0'),
  })
  expect(await shopwire('upgrade', 'shopwire:0.3.0')).toMatchObject({
    code: 1,
    printed: expect.stringContaining('went back to shopwire:0.2.0'),
  })
  expect(await running()).toBe('0.2.0')
  expect(await shopwire('rollback')).toMatchObject({ code: 0 })
  expect(await running()).toBe('0.1.0')
  // Containers that were not replaced are ready, too.
  await writeFile(join(kit.folder, 'stuck'), '')
  expect(await shopwire('upgrade', 'shopwire:0.2.0')).toMatchObject({
    code: 1,
    printed: expect.stringContaining('The api runs 0.1.0, and shopwire:0.2.0 is 0.2.0.'),
  })
})

test('init writes random secrets into a folder that only its owner may open; a second init is refused and changes nothing', async (context) => {
  const kit = await kitFolder(context)
  const { stdout } = await run(kit.command, [
    'init',
    '--api',
    'https://api.shop.test',
    '--dashboard',
    'https://dash.shop.test',
    '--redis',
  ])
  expect(stdout).toContain('Next: ./shopwire up')
  const mode = async (path: string) => (await stat(join(kit.folder, path))).mode & 0o777
  expect([await mode('secrets'), await mode('secrets/encryption_keys'), await mode('.env')]).toEqual([
    0o700, 0o644, 0o600,
  ])
  const names = await readdir(join(kit.folder, 'secrets'))
  const texts = await Promise.all(names.map((name) => readFile(join(kit.folder, 'secrets', name), 'utf8')))
  const passwords = texts.filter((_, n) => names[n]?.endsWith('_password'))
  expect(new Set(passwords).size).toBe(8)
  for (const password of passwords) expect(password).toMatch(/^[0-9a-f]{48}$/)
  const env = await readFile(join(kit.folder, '.env'), 'utf8')
  expect(env).toContain('SHOPWIRE_API_URL=https://api.shop.test/v1\n')
  for (const text of texts.filter((one) => one !== ''))
    for (const shown of [env, stdout]) expect(shown).not.toContain(text.trim())

  const again = await run(kit.command, ['init']).catch((error: { code: number; stderr: string }) => error)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('init never replaces secrets') })
  expect(await Promise.all(names.map((name) => readFile(join(kit.folder, 'secrets', name), 'utf8')))).toEqual(
    texts,
  )
})

test.for([
  [['init', '--api', 'http://api.shop.test'], 'must begin with https://'],
  [['init', '--api'], '--api needs a URL'],
  [['init', '--dashboard', 'http://localhost:8080'], 'of its own'],
  [['init', '--hurry'], 'init does not know --hurry'],
  [['init', '--monitoring'], 'needs the folder monitoring'],
  [['up'], 'Run ./shopwire init first'],
  [['fly'], 'no command "fly"'],
] as const)(
  'shopwire %j is refused with a reason and leaves nothing behind',
  async ([args, why], context) => {
    const kit = await kitFolder(context)
    const refused = await run(kit.command, args).catch((error: { stderr: string }) => error)
    expect(refused.stderr).toContain(why)
    expect((await readdir(kit.folder)).sort()).toEqual((await readdir(join(ROOT, 'deploy/compose'))).sort())
  },
)

test.skipIf(!isInstalled('docker-compose'))(
  'the compose file is valid after init with every profile, and only Shopwire and its proxy can be reached from other machines',
  async (context) => {
    const kit = await kitFolder(context)
    await run('cp', ['-r', `${ROOT}deploy/monitoring`, join(kit.folder, '..')])
    await run(kit.command, ['init', '--tls', '--redis', '--mail', '--monitoring'])
    const { stdout } = await run('docker-compose', ['config'], { cwd: kit.folder })
    // It writes a port with an address in one line, and one for all addresses as an object.
    const local = [...stdout.matchAll(/^ {4}- 127\.0\.0\.1:\d+:\d+\/tcp$/gm)]
    expect(local.length).toBe(6)
    const others = [...stdout.matchAll(/^ {4}- (?:published: )?(\d+)(?::\d+\/tcp)?$/gm)].map(
      ([, port]) => port,
    )
    expect(others.sort()).toEqual(['443', '80'])
    const secretsOf = (service: string) => {
      const [, part = ''] = new RegExp(`^  ${service}:\\n((?: {4}.*\\n)+)`, 'm').exec(stdout) ?? []
      return [...part.matchAll(/source: (\w+)/g)].map(([, name]) => name).sort()
    }
    expect(
      Object.fromEntries(['api', 'worker', 'dashboard', 'migrate'].map((one) => [one, secretsOf(one)])),
    ).toEqual({
      api: ['api_url', 'encryption_keys', 'redis_url'],
      worker: ['encryption_keys', 'redis_url', 'smtp_url', 'worker_url'],
      dashboard: ['dashboard_url', 'encryption_keys', 'redis_url'],
      migrate: ['owner_url'],
    })
  },
)

test.skipIf(!isInstalled('systemd-analyze'))(
  'systemd accepts every unit, and rates the exposure of each program of the store below 2 (where systemd-analyze is installed)',
  async (context) => {
    const folder = await temporaryFolder(context)
    const names = (await readdir(join(ROOT, 'deploy/systemd'))).filter((name) => name.endsWith('.service'))
    expect(names.length).toBe(6)
    for (const name of names) {
      const unit = await readFile(join(ROOT, 'deploy/systemd', name), 'utf8')
      // Where it is installed, not on a machine that runs tests.
      const path = join(folder, name)
      await writeFile(path, unit.replaceAll('/usr/local/bin/shopwire', '/bin/true'))
      const verified = await run('systemd-analyze', ['verify', path])
      expect(verified.stderr).toBe('')
      // Needs what PostgreSQL's own programs need.
      if (name.startsWith('shopwire-backup')) continue
      const { stdout } = await run('systemd-analyze', ['security', '--offline=yes', '--no-pager', path])
      expect(Number(/exposure level.*: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2)
    }
  },
)

/** By other ways than assemble.ts finds them: marks that the bundler left in the code, folders that were copied. */
async function expectWholeSbom(app: string): Promise<void> {
  const sbom = JSON.parse(await readFile(join(app, 'sbom.cdx.json'), 'utf8'))
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'shopwire' } } })
  const listed = new Set(sbom.components.map((one: { name: string }) => one.name))
  const dist = join(app, 'service/dist')
  const code = await Promise.all((await readdir(dist)).map((name) => readFile(join(dist, name), 'utf8')))
  const bundled = code.flatMap((text) =>
    [...text.matchAll(/^\/\/ .*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(([, name]) => name),
  )
  expect(new Set(bundled).size).toBeGreaterThan(20)
  const copied = await packagesIn(join(app, 'node_modules'))
  expect(copied).toContain('pdfkit')
  // One that every page of the dashboard has, and one of the portal.
  const missing = [...bundled, ...copied, 'react-dom', 'vue', 'node'].filter((name) => !listed.has(name))
  expect([...new Set(missing)]).toEqual([])
  // Nothing of what only builds and tests.
  for (const name of ['vitest', 'typescript', '@biomejs/biome']) expect(listed).not.toContain(name)
  const licences = await readFile(join(app, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  const named = [...licences.matchAll(/^(\S+@\S+): \S/gm)].map(([, id]) => id)
  const components = sbom.components.map(
    (one: { name: string; version: string }) => `${one.name}@${one.version}`,
  )
  expect(named.sort()).toEqual([...new Set(components)].sort())
  for (const path of ['web/dist/dashboard', 'docs'])
    expect(await readdir(join(app, path))).not.toContain('.built-from.json')
}

async function packagesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder)
  const nested = names.map(async (name) =>
    name.startsWith('@') ? (await readdir(join(folder, name))).map((own) => `${name}/${own}`) : [name],
  )
  return (await Promise.all(nested)).flat()
}

async function kitFolder(context: TestContext) {
  const folder = join(await temporaryFolder(context), 'compose')
  await run('cp', ['-r', `${ROOT}deploy/compose`, folder])
  return { folder, command: join(folder, 'shopwire') }
}

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version']).status === 0
}

async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-image-'))
  await chmod(folder, 0o755)
  context.onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function titleOf(url: string): Promise<string> {
  return /<title>(.*?)<\/title>/.exec(await (await fetch(url)).text())?.[1] ?? ''
}
