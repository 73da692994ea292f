import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Advisory {
  readonly advisory: string
  readonly package: string
  /** Versions that it is about. */
  readonly range: string
  readonly severity: string
  readonly title: string
  readonly url: string
}

/** The registry did not answer, or not with what it knows. */
export class CouldNotAsk extends Error {}

/** Of npm's report: what is vulnerable, by an advisory or by another package that it depends on. */
interface Report {
  readonly auditReportVersion?: number
  readonly message?: string
  readonly error?: { readonly summary?: string }
  readonly vulnerabilities?: Readonly<Record<string, { readonly via: readonly (string | Via)[] }>>
}

interface Via {
  readonly source: number
  readonly name: string
  readonly title: string
  readonly url: string
  readonly severity: string
  readonly range: string
}

const BYTES_MAX = 64 * 1024 * 1024
const ANSWER_MS_MAX = 300_000
/** Vulnerable since 2020, and no part of anything here. */
const VULNERABLE = { name: 'minimist', version: '0.0.8' }

/** Every advisory about the packages locked in this folder. */
export async function advisoriesFor(folder: string): Promise<Advisory[]> {
  const { vulnerabilities = {} } = await npmAudit(folder)
  const found = Object.values(vulnerabilities).flatMap(({ via }) =>
    via.flatMap((one) => (typeof one === 'string' ? [] : [one])),
  )
  const byId = new Map(found.map((one) => [one.source, one]))
  return [...byId.values()].map(({ source, name, range, severity, title, url }) => ({
    advisory: /GHSA-[\w-]+$/.exec(url)?.[0] ?? String(source),
    package: name,
    range,
    severity,
    title,
    url,
  }))
}

/** A registry may accept the question and know no advisories, as mirrors do: then "none" would mean nothing. */
export async function assertKnowsAdvisories(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-audit-'))
  try {
    const { name, version } = VULNERABLE
    const project = { name: 'vulnerable', version: '1.0.0', dependencies: { [name]: version } }
    const packages = { '': project, [`node_modules/${name}`]: { version } }
    await writeFile(join(folder, 'package.json'), JSON.stringify(project))
    await writeFile(
      join(folder, 'package-lock.json'),
      JSON.stringify({ ...project, lockfileVersion: 3, packages }),
    )
    if ((await advisoriesFor(folder)).length === 0)
      throw new CouldNotAsk(
        `the registry answers, but knows nothing about ${name} ${version}, which is vulnerable`,
      )
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** npm also exits with 1 when it found something; only the report says what happened. */
async function npmAudit(cwd: string): Promise<Report> {
  const args = [
    'audit',
    '--json',
    '--package-lock-only',
    '--include=dev',
    '--include=optional',
    '--fetch-retries=1',
  ]
  const options = { cwd, maxBuffer: BYTES_MAX, timeout: ANSWER_MS_MAX }
  const { printed, failure } = await new Promise<{ printed: string; failure: string }>((resolve) => {
    execFile('npm', args, options, (error, stdout, stderr) =>
      resolve({ printed: stdout, failure: stderr.trim() || (error?.message ?? '') }),
    )
  })
  const report = parse(printed)
  if (report?.auditReportVersion === 2) return report
  throw new CouldNotAsk(report?.error?.summary || report?.message || failure || 'npm audit printed no report')
}

function parse(printed: string): Report | undefined {
  try {
    return JSON.parse(printed)
  } catch {
    return undefined
  }
}
