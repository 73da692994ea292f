import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '@shopwire/test-kit/pages/code-blocks'
import { startHaproxy } from '@shopwire/test-kit/proxies/haproxy'
import { createAuthority, freePort, until } from '@shopwire/test-kit/servers'
import { type ApiProcess, START_MS_MAX, startSystem } from '@shopwire/test-kit/systems'
import { expect, onTestFinished, test } from 'vitest'

const KIT = join(ROOT, 'deploy/monitoring')
const NAME = /(?<![\w:])(?:shopwire|http_server|node|nodejs|process|haproxy|pg)_[a-z0-9_]+(?![\w:])/g
/** What the backups write; agreed by name, and checked where they are made. */
const BACKUPS = [
  'shopwire_backup_last_success_timestamp_seconds',
  'shopwire_restore_test_last_success_timestamp_seconds',
]

test('every metric that a rule or a dashboard names is in a real scrape, with the labels that it selects by', {
  timeout: START_MS_MAX,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-textfile-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(
    join(folder, 'shopwire_backup.prom'),
    BACKUPS.map((name) => `# TYPE ${name} gauge\n${name} 1\n`).join(''),
  )
  const system = await startSystem({ admission: 'postgres' })
  onTestFinished(() => system.stop())
  const api = system.apis[0] as ApiProcess
  const [worker, dashboard, node, postgres, haproxy] = await Promise.all([
    system.startWorker(),
    system.startDashboard(),
    startExporter('prometheus-node-exporter', [`--collector.textfile.directory=${folder}`]),
    startExporter('prometheus-postgres-exporter', [], {
      DATA_SOURCE_NAME: `${system.superuserUrl}?sslmode=disable`,
    }),
    startProxy(api),
  ])
  const processes = [api.healthUrl, worker.healthUrl, dashboard.healthUrl]
  const scrape = (await Promise.all([...processes, node, postgres, haproxy].map(readMetrics))).join('\n')
  const exposed = new Set([...scrape.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name))
  const isExposed = (name: string) =>
    exposed.has(name) || exposed.has(name.replace(/_(bucket|count|sum)$/, ''))

  const expressions = await readExpressions()
  const names = new Set(expressions.flatMap((text) => text.match(NAME) ?? []))
  expect(names.size).toBeGreaterThan(60)
  expect([...names].filter((name) => !isExposed(name))).toEqual([])

  // A label that no series of the metric has selects nothing, for ever. Metrics without any series here are left out.
  const wrong = expressions.flatMap((text) =>
    [...text.matchAll(/([a-z][a-z0-9_]+)\{([^}]*)\}/g)].flatMap(([, name = '', selector = '']) => {
      const series = scrape.split('\n').filter((line) => line.startsWith(`${name}{`))
      const labels = [...selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label)
      const own = labels.filter((label) => label !== 'job' && label !== 'instance')
      return own.filter((label) => series.length > 0 && !series.some((line) => line.includes(`${label}="`)))
    }),
  )
  expect(wrong).toEqual([])
})

async function readExpressions(): Promise<string[]> {
  const files = async (part: string, end: string) =>
    Promise.all(
      (await readdir(join(KIT, part)))
        .filter((name) => name.endsWith(end))
        .map((name) => readFile(join(KIT, part, name), 'utf8')),
    )
  const rules = await files('rules', '.yml')
  const dashboards = await files('grafana/dashboards', '.json')
  return [
    ...rules
      .flatMap((text) => text.split(/^ {6}- (?:alert|record): /m).slice(1))
      .map((block) => block.split('annotations:')[0] ?? ''),
    ...dashboards.flatMap((text) =>
      [...text.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, json = '']) => JSON.parse(json) as string),
    ),
  ]
}

async function startExporter(program: string, args: readonly string[], env = {}): Promise<string> {
  const url = `http://127.0.0.1:${await freePort()}`
  const child = spawn(program, [`--web.listen-address=${new URL(url).host}`, ...args], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, ...env },
  })
  onTestFinished(async () => {
    child.kill()
    await once(child, 'close')
  })
  await until(
    () =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      ),
    30_000,
    () => `${program} does not answer`,
  )
  return url
}

async function startProxy({ port, healthUrl }: ApiProcess): Promise<string> {
  const authority = await createAuthority()
  onTestFinished(() => authority.remove())
  const certificate = await authority.issue('IP:127.0.0.1')
  const proxy = await startHaproxy({ certificate, apis: [{ port, healthPort: new URL(healthUrl).port }] })
  onTestFinished(() => proxy.stop())
  return new URL(proxy.stateUrl).origin
}

const readMetrics = async (url = '') => (await fetch(`${url}/metrics`)).text()
