import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { parseAllDocuments } from 'yaml'
import { runRenderer } from './renderer.ts'

export type Values = Readonly<Record<string, unknown>>

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly [field: string]: unknown
}

export interface Rendered {
  /** By the name of their template. */
  readonly manifests: readonly Manifest[]
  readonly notes: string
}

/** The chart as `helm template` renders it, with given values over those of the chart; refused as by its values.schema.json. */
export function renderChart(folder: string, ...given: Values[]): Rendered {
  const input = { chart: folder, release: 'shopwire', namespace: 'default', values: given }
  const printed = JSON.parse(runRenderer(JSON.stringify(input))) as {
    values: Values
    manifests: string
    notes: string
    error?: string
  }
  // Before what the templates say: it names the value.
  checkValues(readFileSync(join(folder, 'values.schema.json'), 'utf8'), printed.values)
  if (printed.error !== undefined) throw new Error(printed.error)
  return { manifests: parseManifests(printed.manifests), notes: printed.notes }
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors
    if (error) throw error
    const manifest = document.toJS() as Manifest | null
    return manifest === null ? [] : [manifest]
  })
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
