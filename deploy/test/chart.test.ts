import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, BlockList } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAuthority } from '@shopwire/test-kit/servers'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import {
  configReference,
  loadConfig,
  loadDashboardConfig,
  loadSchemaUrl,
} from '../../service/src/config/config.ts'
import { createHealthServer } from '../../service/src/edge/health-server.ts'
import { QUEUES } from '../../service/src/operations/metrics.ts'
import { isPublicAddress } from '../../service/src/platform/outbound/public-address.ts'
import { createMetrics, describeMetrics } from '../../service/src/programs/metrics.ts'
import { type Manifest, parseManifests, renderChart, type Values } from '../../tools/chart/render.ts'
import { whyNotRendered } from '../../tools/chart/renderer.ts'
import { schemaProblems } from './kubernetes-schema.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CHART = join(ROOT, 'deploy/helm/shopwire')
const SETTINGS = configReference()
const authority = await createAuthority()
const client = await authority.issue('DNS:shopwire')
await authority.remove()
const EXAMPLE_SECRETS: Readonly<Record<string, string>> = {
  SHOPWIRE_DATABASE_URL: 'postgres://api:f8e1c7a2@db.example/shopwire?sslmode=verify-full',
  SHOPWIRE_WORKER_DATABASE_URL: 'postgres://worker:7c1e3b9d@db.example/shopwire?sslmode=verify-full',
  SHOPWIRE_DATABASE_OWNER_URL: 'postgres://owner:0b7d5e9c@db.example/shopwire?sslmode=verify-full',
  SHOPWIRE_DASHBOARD_DATABASE_URL: 'postgres://web:4a6c2d8f@db.example/shopwire?sslmode=verify-full',
  SHOPWIRE_ENCRYPTION_KEYS: `k1:${Buffer.from(Array.from({ length: 32 }, (_, n) => n * 7)).toString('base64')}`,
  SHOPWIRE_REDIS_URLS: 'rediss://:9f3b@links-master',
  SHOPWIRE_REDIS_SENTINELS: 'rediss://:0c6d@sentinel-1.example,rediss://:0c6d@sentinel-2.example',
  SHOPWIRE_REDIS_CLIENT_KEY: client.key,
  SHOPWIRE_EGRESS_PROXY: 'http://proxy.example:3128',
  SHOPWIRE_SMTP_URL: 'smtps://mail.example:465',
  SHOPWIRE_OPERATOR_TOKEN: 'swo_example',
  SHOPWIRE_OIDC_CLIENT_SECRET: 'e5a1',
  SHOPWIRE_STRIPE_SECRET_KEY: 'sk_test_5f2e',
  SHOPWIRE_STRIPE_WEBHOOK_SECRETS: 'whsec_0123456789',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20d41d',
}

/** The least that has to be given, and everything at once in both ways of scaling. */
const LEAST: Values = {
  settings: {
    SHOPWIRE_API_URL: 'https://api.links.example/v1',
    SHOPWIRE_DASHBOARD_ORIGIN: 'https://dashboard.links.example',
  },
}
const EVERYTHING: Values = {
  image: { repository: 'registry.example/shopwire', pullSecrets: ['pull'] },
  settings: {
    ...(LEAST.settings as Values),
    SHOPWIRE_ADMISSION: 'redis',
    SHOPWIRE_REDIS_CLIENT_CERT: client.cert,
    SHOPWIRE_MAIL_FROM: 'Shop <store@links.example>',
    SHOPWIRE_OIDC_ISSUER: 'https://id.links.example',
    SHOPWIRE_OIDC_CLIENT_ID: 'shop',
    SHOPWIRE_OIDC_NAME: 'Links',
    SHOPWIRE_OIDC_EMAIL_DOMAINS: 'links.example',
    SHOPWIRE_TOP_UP_MAX_CENTS: 50_000_000,
    SHOPWIRE_DATABASE_NAMED_STATEMENTS: false,
    SHOPWIRE_SHUTDOWN_MS: 45_500,
    SHOPWIRE_TRACE_RATIO: 0.25,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.traces.svc:4318',
    SHOPWIRE_PLAINTEXT_HOSTS: 'collector.traces.svc',
  },
  secrets: Object.fromEntries(
    Object.keys(EXAMPLE_SECRETS).map((name) => [name, { secret: 'vault', key: name.toLowerCase() }]),
  ),
  trustedAuthorities: { configMap: 'authorities', key: 'root.pem' },
  api: {
    settings: { SHOPWIRE_LOG_LEVEL: 'warn', SHOPWIRE_CONNECTIONS_PER_ADDRESS: 7 },
    autoscaling: { enabled: true },
    podAnnotations: { 'links.example/team': 'shop' },
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'shop', operator: 'Exists', effect: 'NoSchedule' }],
  },
  worker: { autoscaling: { enabled: true } },
  priorityClassName: 'high',
  service: { annotations: { 'links.example/scheme': 'internal' } },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'links.example/size': '1m' },
    api: { host: 'api.links.example', tlsSecret: 'api-tls' },
    dashboard: { host: 'dashboard.links.example' },
  },
  networkPolicy: {
    alsoPrivate: ['198.100.0.0/16'],
    extraEgress: { worker: [{ to: [{ ipBlock: { cidr: '10.1.1.1/32' } }] }] },
  },
  monitoring: { enabled: true, labels: { release: 'prometheus' } },
}
const CASES: Readonly<Record<string, Values>> = {
  least: LEAST,
  everything: EVERYTHING,
  keda: { ...EVERYTHING, worker: { autoscaling: { enabled: true, by: 'keda' } } },
  small: {
    ...LEAST,
    dashboard: { enabled: false },
    journal: { accessMode: 'ReadWriteOnce', storageClass: 'fast' },
    worker: { replicas: 1 },
    disruptionBudget: { enabled: false },
    networkPolicy: { enabled: false },
    runAs: { user: null, group: null, fsGroup: null },
  },
}
const whySkipped = whyNotRendered()
const rendered: Readonly<Record<string, readonly Manifest[]>> = whySkipped
  ? {}
  : Object.fromEntries(
      Object.entries(CASES).map(([name, values]) => [name, renderChart(CHART, values).manifests]),
    )
beforeEach((context) => context.skip(whySkipped !== undefined, whySkipped))

interface Container {
  readonly args?: readonly string[]
  readonly image: string
  readonly env: readonly { name: string; value?: string; valueFrom?: unknown }[]
  readonly volumeMounts: readonly { name: string; mountPath: string }[]
  readonly ports?: readonly { name: string; containerPort: number }[]
  readonly securityContext: unknown
  readonly resources: { readonly requests: object; readonly limits: object }
  readonly [probe: `${string}Probe`]: { httpGet: { path: string; port: string } }
}
interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly containers: readonly Container[]
    readonly volumes: readonly { name: string; projected?: { sources: readonly SecretSource[] } }[]
  }
}
const roleOf = (pod: Pod) => pod.metadata.labels['app.kubernetes.io/component'] ?? ''

/** The others have no port, so no Service sends them anything. */
const isServing = (pod: Pod) => ['api', 'worker', 'dashboard'].includes(roleOf(pod))

/** Which secrets hold its logins to the database. */
const loginsOf = (pod: Pod) =>
  pod.spec.volumes
    .flatMap(({ projected }) => projected?.sources ?? [])
    .filter(({ secret }) => secret.items.some(({ path }) => /(DATABASE|OWNER)_URL$/.test(path)))
    .map(({ secret }) => `${secret.name}/${secret.items[0]?.key}`)

const scriptFor = (way: string) => readFileSync(join(ROOT, 'deploy', way, 'shopwire-admin'), 'utf8')

interface SecretSource {
  readonly secret: { readonly name: string; readonly items: readonly { key: string; path: string }[] }
}

describe.each(Object.entries(rendered))('rendered with %s', (_, manifests) => {
  test('every object fits the schema of its kind, with no unknown field', () => {
    expect(manifests.flatMap(schemaProblems)).toEqual([])
  })

  test('every pod meets the restricted standard: no root, no capability, read-only, no account, no secret in its environment', () => {
    const pods = podsOf(manifests)
    expect(pods.length).toBeGreaterThanOrEqual(3)
    for (const { spec } of pods) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const { securityContext, env, resources } of spec.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        expect(Object.keys(resources).sort()).toEqual(['limits', 'requests'])
        for (const { name, value, valueFrom } of env) {
          expect(valueFrom, name).toBeUndefined()
          expect(typeof value, name).toBe('string')
        }
      }
    }
  })

  test('the programs accept the environment and the files that their pods get', (context) => {
    for (const pod of podsOf(manifests)) {
      const folder = mkdtempSync(join(tmpdir(), 'shopwire-chart-'))
      context.onTestFinished(() => rmSync(folder, { recursive: true }))
      const [container] = pod.spec.containers as [Container]
      for (const { secret } of pod.spec.volumes.flatMap(({ projected }) => projected?.sources ?? []))
        for (const { path } of secret.items) writeFileSync(join(folder, path), EXAMPLE_SECRETS[path] ?? '')
      const env = Object.fromEntries(
        container.env.map(({ name, value = '' }) => [name, value.replace('/etc/shopwire/secrets', folder)]),
      )
      const role = roleOf(pod)
      expect(container.args?.at(-1) ?? 'admin').toBe(role)
      if (role === 'migrate') {
        expect(loadSchemaUrl('migrate', env)).toBe(EXAMPLE_SECRETS.SHOPWIRE_DATABASE_OWNER_URL)
        const given = Object.keys(env).filter((name) => name.startsWith('SHOPWIRE_'))
        expect(given.filter((name) => name !== 'SHOPWIRE_PLAINTEXT_HOSTS')).toHaveLength(1)
      } else if (role === 'dashboard') loadDashboardConfig(env)
      else expect(loadConfig(env).SHOPWIRE_JOURNAL).toBe(/worker|admin/.test(role) ? '/journal' : undefined)
      if (role !== 'migrate') expect(JSON.stringify(pod)).not.toContain('OWNER_URL')
    }
  })

  test('every program signs in to the database with a login of its own; the nightly verify has that of the pod for operators', () => {
    const pods = podsOf(manifests)
    const logins = pods.flatMap(loginsOf)
    expect(logins.length).toBe(pods.length)
    expect(new Set(logins).size).toBe(logins.length - 1)
    expect(
      pods.filter((pod) => loginsOf(pod).includes('shopwire-operator/database_url')).map(roleOf),
    ).toEqual(['admin', 'verify'])
  })

  test('selectors, targets, ports and volumes refer to what exists', () => {
    const pods = podsOf(manifests)
    const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
    const selected = (labels: Readonly<Record<string, string>> = {}) =>
      pods.filter((pod) =>
        Object.entries(labels).every(([name, value]) => pod.metadata.labels[name] === value),
      )
    for (const manifest of manifests) {
      const spec = manifest.spec as Record<string, never>
      const id = `${manifest.kind} ${manifest.metadata.name}`
      const { selector, podSelector, scaleTargetRef } = spec as Record<
        string,
        Record<string, never> | undefined
      >
      if (manifest.kind === 'Deployment' || manifest.kind === 'PodDisruptionBudget')
        expect(selected(selector?.matchLabels), id).toHaveLength(1)
      if (manifest.kind === 'NetworkPolicy')
        expect(selected(podSelector?.matchLabels).length, id).toBeGreaterThan(0)
      if (scaleTargetRef) {
        const target = deployments.find(({ metadata }) => metadata.name === scaleTargetRef.name)
        expect(target, id).toBeDefined()
        expect(target?.spec, id).not.toHaveProperty('replicas')
      }
      if (manifest.kind === 'Service')
        for (const { targetPort } of spec.ports as unknown as { targetPort: string }[])
          for (const pod of selected(selector).filter(isServing))
            expect(
              pod.spec.containers[0]?.ports?.map(({ name }) => name),
              id,
            ).toContain(targetPort)
      if (manifest.kind === 'ServiceMonitor') {
        const services = manifests.filter(
          ({ kind, metadata }) => kind === 'Service' && includes(metadata.labels, selector?.matchLabels),
        )
        expect(services.map(({ metadata }) => metadata.name)).toEqual(['shopwire-metrics'])
        expect(manifest.metadata.labels).toHaveProperty('release')
      }
      if (manifest.kind === 'Ingress')
        expect(
          manifests.some(
            ({ kind, metadata }) => kind === 'Service' && metadata.name === manifest.metadata.name,
          ),
          id,
        ).toBe(true)
    }
    for (const { spec } of pods)
      expect(spec.containers[0]?.volumeMounts.map(({ name }) => name)).toEqual(
        spec.volumes.map(({ name }) => name),
      )
  })
})

test('every command that page and notes run in a pod is one of an operator, in the pod with the login of operators', () => {
  const page = readFileSync(join(ROOT, 'docs/self-hosting/kubernetes.md'), 'utf8')
  const inPods = [
    ...page.matchAll(/^kubectl .*\bexec\b.*$/gm),
    ...scriptFor('kubernetes').matchAll(/\bexec --stdin .*$/gm),
  ]
  expect(inPods.length).toBeGreaterThan(0)
  for (const [line] of inPods) expect(line).toMatch(/deploy\/shopwire-admin|"\$pod"/)
  expect(renderChart(CHART, LEAST).notes).toMatch(/\bexec deploy\/shopwire-admin -- shopwire-admin /)
  expect(scriptFor('kubernetes')).toContain('SHOPWIRE_ADMIN_POD:-deploy/shopwire-admin}')
  expect(page).toContain('create secret generic shopwire-operator --from-file=database_url=operator_url')
})

test('a field that does not exist and a missing one are found in a rendered object', () => {
  const planted = structuredClone(rendered.least?.find(({ kind }) => kind === 'Deployment')) as Manifest
  const container = (planted.spec as { template: Pod }).template.spec.containers[0] as unknown as Record<
    string,
    unknown
  >
  container.readinesProbe = container.readinessProbe
  expect(schemaProblems(planted)).toEqual([
    'Deployment.spec.template.spec.containers[0].readinesProbe does not exist',
  ])
  delete container.readinesProbe
  delete container.name
  expect(schemaProblems(planted).join()).toContain('name')
})

test.each([
  ['settings', { SHOPWIRE_WORKER_ORDER: 4 }, 'settings.SHOPWIRE_WORKER_ORDER: is not a value of this chart'],
  ['settings', { SHOPWIRE_WORKER_ORDERS: 0 }, 'settings.SHOPWIRE_WORKER_ORDERS: must be >= 1'],
  ['settings', { SHOPWIRE_LOG_LEVEL: 'loud' }, 'settings.SHOPWIRE_LOG_LEVEL: must be equal to one of'],
  ['settings', { SHOPWIRE_DATABASE_URL: 'postgres://…' }, 'settings.SHOPWIRE_DATABASE_URL: is not a value'],
  ['settings', { SHOPWIRE_PORT: 80 }, 'settings.SHOPWIRE_PORT: is not a value of this chart'],
  ['secrets', { SHOPWIRE_SMTP_URL: 'smtp://…' }, 'secrets.SHOPWIRE_SMTP_URL: must be object'],
  ['secrets', { SHOPWIRE_ENCRYPTION_KEYS: null }, "must have required property 'SHOPWIRE_ENCRYPTION_KEYS'"],
  ['networkPolicy', { ingressFrom: [] }, 'networkPolicy.ingressFrom: must NOT have fewer than 1 items'],
  ['image', { digest: 'latest' }, 'image.digest: must match pattern'],
  ['api', { replica: 3 }, 'api.replica: is not a value of this chart'],
  ['journal', { accessMode: 'ReadWriteOnce' }, 'only one worker can have the journal'],
  ['settings', { SHOPWIRE_DASHBOARD_ORIGIN: null }, 'settings.SHOPWIRE_DASHBOARD_ORIGIN is required'],
  ['ingress', { enabled: true }, 'ingress.api.host is required'],
])('refuses %s %j', (part, mistake, why) => {
  expect(() => renderChart(CHART, { ...LEAST, [part]: { ...(LEAST[part] as Values), ...mistake } })).toThrow(
    why,
  )
})

test('every setting of the service is a value of the chart, a secret of it, or set by it', () => {
  const { definitions, properties } = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'))
  const plain = Object.keys(definitions.settings.properties)
  const secrets = Object.keys(properties.secrets.properties)
  const missing = SETTINGS.map(({ name }) => name).filter((name) => ![...plain, ...secrets].includes(name))
  expect(missing.filter((name) => !/_(HOST|PORT|FOLDER|JOURNAL)$/.test(name))).toEqual([])
  expect(secrets).toEqual(SETTINGS.filter(({ secret }) => secret).map(({ name }) => name))
  expect(Object.keys(EXAMPLE_SECRETS).sort()).toEqual([...secrets].sort())
})

test('image, chart and package have one version', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  expect(parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))).toMatchObject({
    version,
    appVersion: version,
  })
  for (const pod of podsOf(rendered.least ?? []))
    expect(pod.spec.containers[0]?.image).toBe(`shopwire:${version}`)
})

test('probes ask paths that the health port answers, and a pod may stop longer than its program takes', async (context) => {
  const server = createHealthServer(createMetrics('test', ['api']), {
    notReady: async () => undefined,
    degraded: () => undefined,
    warnings: () => [],
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.onTestFinished(() => void server.close())
  for (const pod of podsOf(rendered.least ?? []).filter(isServing)) {
    const [container] = pod.spec.containers as [Container]
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const) {
      const { path, port } = container[probe]?.httpGet ?? { path: '', port: '' }
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
      expect((await fetch(url)).status, probe).toBe(200)
      expect(container.ports?.find(({ name }) => name === port)?.containerPort).toBe(
        Number(defaultOf('SHOPWIRE_HEALTH_PORT')),
      )
    }
    expect(pod.spec.terminationGracePeriodSeconds).toBe(Number(defaultOf('SHOPWIRE_SHUTDOWN_MS')) / 1000 + 10)
  }
  const ports = podsOf(rendered.least ?? []).flatMap(({ spec }) => spec.containers[0]?.ports ?? [])
  const own = ports.filter(({ name }) => name === 'http').map(({ containerPort }) => String(containerPort))
  expect(own).toEqual([defaultOf('SHOPWIRE_PORT'), defaultOf('SHOPWIRE_DASHBOARD_PORT')])
  expect(podsOf(rendered.everything ?? []).find(isServing)?.spec.terminationGracePeriodSeconds).toBe(56)
})

test('workers are scaled by a metric that exists, for queues that exist', () => {
  expect(describeMetrics().map(({ name }) => name)).toContain('shopwire_queue_oldest_due_seconds')
  for (const scaled of ['everything', 'keda']) {
    const text = JSON.stringify(
      rendered[scaled]?.filter(
        ({ kind, metadata }) => /Scale/i.test(kind) && metadata.name === 'shopwire-worker',
      ),
    )
    expect(text).toContain('shopwire_queue_oldest_due_seconds')
    for (const queue of ['fulfil', 'deliver']) {
      expect(QUEUES).toContain(queue)
      expect(text).toContain(queue)
    }
  }
})

test('a worker may reach exactly the addresses that its SSRF guard takes for public', () => {
  const isAllowed = publicAddressesOf(rendered.least ?? [])
  const differ: string[] = []
  const compare = (address: string) => {
    if (isAllowed(address) !== isPublicAddress(address)) differ.push(address)
  }
  for (let high = 0; high < 256; high += 1)
    for (let low = 0; low < 256; low += 1) compare(`${high}.${low}.113.7`)
  // Where the small reserved ranges are.
  for (const high of ['192.0', '192.31', '192.52', '192.88', '192.175', '198.51', '203.0'])
    for (let low = 0; low < 256; low += 1) compare(`${high}.${low}.255`)
  for (const address of [
    '169.254.169.254',
    '100.64.0.1',
    '100.127.255.255',
    '100.128.0.0',
    '255.255.255.255',
  ])
    compare(address)
  for (let high = 0; high < 65_536; high += 16) compare(`${high.toString(16)}::7`)
  for (let second = 0; second < 65_536; second += second < 0x400 ? 1 : 0x28)
    compare(`2001:${second.toString(16)}::7`)
  for (const address of ['::1', '::ffff:10.0.0.1', '64:ff9b::a00:1', 'fd00::1', 'fe80::1', '2620:4f:8000::1'])
    compare(address)
  for (const address of ['3fff:fff::1', '3fff:1000::1', '2620:4f:8001::1', '2606:4700::1111'])
    compare(address)
  expect(differ).toEqual([])
})

test('API and migration reach DNS and the database only; everything that no rule names is refused', () => {
  const policies = (rendered.least ?? []).filter(({ kind }) => kind === 'NetworkPolicy')
  const find = (name: string) =>
    policies.find(({ metadata }) => metadata.name === `shopwire-${name}`)?.spec as {
      egress?: { ports?: { port: number }[] }[]
      ingress?: unknown[]
      policyTypes: string[]
    }
  expect(find('deny')).not.toHaveProperty('ingress')
  expect(find('deny')).not.toHaveProperty('egress')
  for (const { spec } of policies)
    expect((spec as { policyTypes: unknown }).policyTypes).toEqual(['Ingress', 'Egress'])
  for (const role of ['api', 'migrate', 'dashboard', 'verify', 'admin'])
    expect(find(role).egress?.map(({ ports }) => ports?.map(({ port }) => port))).toEqual([[53, 53], [5432]])
  for (const role of ['migrate', 'verify', 'admin']) expect(find(role)).not.toHaveProperty('ingress')
})

test('threat 67: with Redis, payments, traces and a proxy configured, the API still reaches DNS, the database and Redis only', () => {
  const policy = rendered.everything?.find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'shopwire-api',
  )
  const { egress } = (policy as Manifest).spec as { egress: { ports: { port: number }[] }[] }
  expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([[53, 53], [5432], [6379, 26379]])
  expect(JSON.stringify(egress)).not.toContain('0.0.0.0/0')
})

test('the rules in the chart are those of the monitoring, each an object of its own', () => {
  const names = (folder: string) =>
    globSync(join(ROOT, folder, '*.yml')).map((path) => basename(path, '.yml'))
  expect(names('deploy/helm/shopwire/rules').sort()).toEqual(names('deploy/monitoring/rules').sort())
  const rules = (rendered.everything ?? []).filter(({ kind }) => kind === 'PrometheusRule')
  expect(rules.map(({ metadata }) => metadata.name.replace('shopwire-', '')).sort()).toEqual(
    names('deploy/monitoring/rules').sort(),
  )
  expect(JSON.stringify(rules)).toContain('$labels')
})

describe('a template of another chart', () => {
  const renderText = (text: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'shopwire-chart-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    mkdirSync(join(folder, 'templates'))
    const files = {
      'Chart.yaml': 'name: other',
      'values.yaml': 'text: of {{ .Release.Name }}\nnumber: 10000000\nlist: [b, { z: 1, a: yes }]',
      'values.schema.json': '{}',
      'templates/_part.tpl': '{{ define "part" }}part of {{ .Chart.Name }}{{ end }}',
      'templates/one.yaml': text,
      'templates/NOTES.txt': '',
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return renderChart(folder).manifests
  }

  test.each([
    ['{{ include "part" . }}', 'part of other'],
    ['{{ tpl .Values.text . }}', 'of shopwire'],
    ['{{ .Values.number | quote }}', '1e+07'],
    ['{{ lookup "v1" "Secret" "" "one" | empty }}', true],
    ['{{ .Values.missing | default "none" | upper }}', 'NONE'],
    ['\n{{ toYaml .Values.list }}', ['b', { a: true, z: 1 }]],
  ])('prints for %j what Helm prints', (text, printed) => {
    expect(renderText(`it: ${text}`)).toEqual([{ it: printed }])
  })

  test.each([
    ['{{ .Values.missing }}', 'other/templates/one.yaml prints a value that does not exist'],
    ['{{ required "set missing" .Values.missing }}', 'set missing'],
    ['{{ env "HOME" }}', 'function "env" not defined'],
  ])('is refused for %j', (text, why) => {
    expect(() => renderText(text)).toThrow(why)
  })
})

/** Not on every machine: the plain manifests are checked as files by the tests of `npm run generate -- --check`. */
test.skipIf(spawnSync('kubectl', ['version', '--client']).status !== 0)(
  'kubectl builds the example overlay, and its patches reach every place they are for',
  () => {
    const text = execFileSync('kubectl', ['kustomize', 'deploy/kubernetes/overlays/example'], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    const manifests = parseManifests(text)
    expect(manifests.flatMap(schemaProblems)).toEqual([])
    expect(text).not.toMatch(/(api|dashboard)\.shop\.example|helm\.sh|Helm/)
    for (const { kind, metadata } of manifests)
      if (kind !== 'Namespace') expect(metadata).toMatchObject({ namespace: 'shopwire' })
    for (const pod of podsOf(manifests))
      expect(pod.spec.containers[0]?.image).toMatch(/^registry\.shop\.example\/shopwire:\d/)
    expect(text.match(/10\.20\.0\.5\/32/g)).toHaveLength(6)
  },
)

/** On demand, where Helm is installed. */
test.skipIf(spawnSync('helm', []).error !== undefined)(
  'Helm renders the same objects from the same values, and refuses the same mistake',
  (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'shopwire-helm-'))
    context.onTestFinished(() => rmSync(folder, { recursive: true }))
    const helm = (values: Values) => {
      writeFileSync(join(folder, 'values.yaml'), stringify(values))
      return execFileSync('helm', ['template', 'shopwire', CHART, '--values', join(folder, 'values.yaml')], {
        encoding: 'utf8',
        stdio: 'pipe',
      })
    }
    const sorted = (manifests: readonly Manifest[]) =>
      manifests
        .map((one) => [`${one.kind} ${one.metadata.name}`, one] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [name, values] of Object.entries(CASES))
      expect(sorted(parseManifests(helm(values))), name).toEqual(sorted(rendered[name] ?? []))
    expect(() => helm({ ...LEAST, settings: { SHOPWIRE_WORKER_ORDERS: 0 } })).toThrow(
      'SHOPWIRE_WORKER_ORDERS',
    )
    expect(() => helm({})).toThrow('SHOPWIRE_API_URL is required')
  },
)

function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests
    .filter(({ kind }) => ['Deployment', 'Job', 'CronJob'].includes(kind))
    .map(({ spec }) => spec as { template: Pod; jobTemplate?: { spec: { template: Pod } } })
    .map((spec) => (spec.jobTemplate?.spec ?? spec).template)
}

function includes(
  labels: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>> = {},
) {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value)
}

function defaultOf(name: string): string | undefined {
  return SETTINGS.find((setting) => setting.name === name)?.default
}

/** By the rule of the worker's policy that names no port. */
function publicAddressesOf(manifests: readonly Manifest[]): (address: string) => boolean {
  const policy = manifests.find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'shopwire-worker',
  )
  const { egress } = (policy as Manifest).spec as {
    egress: { ports?: unknown; to: { ipBlock: { cidr: string; except: string[] } }[] }[]
  }
  const blocks = egress.filter(({ ports }) => ports === undefined).flatMap(({ to }) => to)
  expect(blocks).toHaveLength(2)
  const [allowed, refused] = [new BlockList(), new BlockList()]
  for (const { ipBlock } of blocks) {
    addTo(allowed, ipBlock.cidr)
    for (const range of ipBlock.except) addTo(refused, range)
  }
  return (address) => {
    const family = address.includes(':') ? 'ipv6' : 'ipv4'
    return allowed.check(address, family) && !refused.check(address, family)
  }
}

function addTo(list: BlockList, range: string) {
  const [address = '', bits] = range.split('/')
  list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4')
}
