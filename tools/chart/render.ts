import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { loadTemplates } from './template.ts'
import { FUNCTIONS } from './template-functions.ts'

export type Values = Readonly<Record<string, unknown>>

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly [field: string]: unknown
}

export interface Rendered {
  /** As Helm prints it: one YAML document for each object, by the name of the template. */
  readonly text: string
  readonly manifests: readonly Manifest[]
  readonly notes: string
}

/** The chart as `helm template RELEASE` renders it, with given values over those of the chart; refused as by its values.schema.json. */
export function renderChart(
  folder: string,
  given: Values,
  { release = 'shopwire', namespace = 'default' } = {},
): Rendered {
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  const { name, version, appVersion } = parse(read('Chart.yaml')) as Record<string, string>
  const values = overlay(parse(read('values.yaml')) as Values, given)
  checkValues(read('values.schema.json'), values)

  const paths = globSync(join(folder, 'templates/*'))
    .map((path) => relative(folder, path))
    .sort()
  const templates = loadTemplates(
    Object.fromEntries(paths.map((path) => [`${name}/${path}`, read(path)])),
    FUNCTIONS,
  )
  const context = {
    Values: values,
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: release, Namespace: namespace, Service: 'Helm' },
    Files: {
      Get: read,
      Glob: (pattern: string) =>
        Object.fromEntries(
          globSync(join(folder, pattern))
            .map((path) => relative(folder, path))
            .map((path) => [path, read(path)]),
        ),
    },
  }
  const printed = paths
    .filter((path) => path.endsWith('.yaml'))
    .map((path) => ({ path, text: templates.execute(`${name}/${path}`, context) }))
    .filter(({ text }) => text.trim() !== '')
  const text = printed
    .map(({ path, text }) => `---\n# Source: ${name}/${path}\n${text.replace(/^\s*---\n/, '').trim()}\n`)
    .join('')
  return {
    text,
    manifests: parseManifests(text),
    notes: templates.execute(`${name}/templates/NOTES.txt`, context),
  }
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors
    if (error) throw error
    const manifest = document.toJS() as Manifest | null
    return manifest === null ? [] : [manifest]
  })
}

/** Maps are merged, everything else is replaced; null removes. */
function overlay(under: Values, over: Values): Values {
  const merged: Record<string, unknown> = { ...under }
  for (const [key, value] of Object.entries(over)) {
    if (value === null) delete merged[key]
    else if (isMap(value)) merged[key] = overlay(isMap(merged[key]) ? merged[key] : {}, value)
    else merged[key] = value
  }
  return merged
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const compiled = new Map<string, ValidateFunction>()

function checkValues(schemaText: string, values: Values) {
  let validate = compiled.get(schemaText)
  if (validate === undefined) {
    const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, formats: { uri: true } })
    validate = ajv.compile(JSON.parse(schemaText) as object)
    compiled.set(schemaText, validate)
  }
  if (validate(values)) return
  const problems = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const name = (params as { additionalProperty?: string }).additionalProperty
    return `${instancePath.slice(1).replaceAll('/', '.')}${name ? `.${name}` : ''}: ${name ? 'is not a value of this chart' : message}`
  })
  throw new Error(
    `the values do not fit the chart:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
  )
}
