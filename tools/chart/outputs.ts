import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { parse, stringify } from 'yaml'
import { type Manifest, renderChart, type Values } from './render.ts'
import { whyNotRendered } from './renderer.ts'
import { type Setting, valuesSchemaText } from './values-schema.ts'

interface Output {
  readonly path: string
  make(): Promise<string>
}

const CHART = 'deploy/helm/shopwire'
const MANIFESTS = 'deploy/kubernetes'
const MADE =
  '# Made by "npm run generate" from deploy/helm/shopwire with deploy/kubernetes/values.yaml; do not edit.\n'

/** Which file of deploy/kubernetes an object goes to; all others belong to the base. */
const COMPONENTS: Readonly<Record<string, string>> = {
  HorizontalPodAutoscaler: 'autoscaling',
  Ingress: 'ingress',
  PrometheusRule: 'monitoring',
  ServiceMonitor: 'monitoring',
}
const EVERYTHING: Values = {
  api: { autoscaling: { enabled: true } },
  worker: { autoscaling: { enabled: true } },
  ingress: { enabled: true },
  monitoring: { enabled: true },
}

/**
 * The generated files of the chart, and the plain manifests, which are the chart with deploy/kubernetes/values.yaml. In this order: the
 * later ones are made of the earlier ones.
 */
export function chartOutputs(readSettings: () => Promise<Setting[]>): Output[] {
  return [
    { path: `${CHART}/Chart.yaml`, make: chartWithVersion },
    {
      path: `${CHART}/values.schema.json`,
      make: async () => valuesSchemaText(await readSettings()),
    },
    // A chart cannot contain files outside its folder.
    ...globSync('deploy/monitoring/rules/*.yml').map((path) => ({
      path: `${CHART}/rules/${basename(path)}`,
      make: () => readFile(path, 'utf8'),
    })),
    ...manifestOutputs(),
  ]
}

function manifestOutputs(): Output[] {
  const why = whyNotRendered()
  if (why !== undefined) {
    process.stdout.write(`${MANIFESTS} is neither compared nor written: ${why}\n`)
    return []
  }
  return [
    { path: `${MANIFESTS}/base/shopwire.yaml`, make: () => manifestsText('base', {}) },
    ...[...new Set(Object.values(COMPONENTS))].map((component) => ({
      path: `${MANIFESTS}/components/${component}/${component}.yaml`,
      make: () => manifestsText(component, EVERYTHING),
    })),
  ]
}

async function chartWithVersion(): Promise<string> {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
  const text = await readFile(`${CHART}/Chart.yaml`, 'utf8')
  return text
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${version}"`)
}

async function manifestsText(component: string, switches: Values): Promise<string> {
  const values = parse(await readFile(`${MANIFESTS}/values.yaml`, 'utf8')) as Values
  const { manifests } = renderChart(CHART, values, switches)
  const chosen = manifests.filter((manifest) => componentOf(manifest) === component)
  return (
    MADE + chosen.map((manifest) => `---\n${stringify(withoutHelm(manifest), { lineWidth: 0 })}`).join('')
  )
}

function componentOf({ kind, metadata: { labels } }: Manifest): string {
  if (labels?.['app.kubernetes.io/component'] === 'metrics') return 'monitoring'
  return COMPONENTS[kind] ?? 'base'
}

/** Nobody but Helm sets these, and nobody but Helm reads them. */
function withoutHelm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHelm)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([key]) => !key.startsWith('helm.sh/') && key !== 'app.kubernetes.io/managed-by',
  )
  return Object.fromEntries(
    kept
      .map(([key, inner]) => [key, withoutHelm(inner)] as const)
      .filter(([key, inner]) => key !== 'annotations' || Object.keys(inner as object).length > 0),
  )
}
