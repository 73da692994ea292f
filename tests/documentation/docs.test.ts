import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { allScenarios } from '@shopwire/cli/golive'
import { verifyWebhook } from '@shopwire/contract/signing'
import { anchorOf, type CodeBlock, codeBlocks, ROOT, readPages } from '@shopwire/test-kit/pages/code-blocks'
import {
  START_MS_MAX,
  type System,
  startSystem,
  startWorker,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type CommandLine,
  commandLinesOf,
  commandOf,
  NOT_RUN,
  readCommands,
  readTests,
} from './command-lines.ts'
import { type Harness, harnesses, receiverHarnesses } from './signing-harness.ts'

/** What the pages say must be true: code in them is run, links in them lead somewhere. */
const pages = await readPages()
const blocks = pages.filter(({ path }) => path.startsWith('docs/')).flatMap(codeBlocks)
const runnable = new Set(['js', 'ts', 'python', 'go', 'php', 'ruby', 'java'])
const PROGRAM_MS_MAX = 60_000

test('every code block in a programming language is run, or is a file that another block needs', () => {
  const idle = blocks.filter(({ language, marks }) => runnable.has(language) && !marks.run && !marks.file)
  expect(idle.map(placeOf)).toEqual([])
})

test('no two pages create the same file', () => {
  const files = blocks.flatMap(({ marks }) => marks.file ?? [])
  expect(files.filter((name, at) => files.indexOf(name) !== at)).toEqual([])
})

describe('signing examples compute the expected signature for every vector', async () => {
  const { cases } = await readVectors('request-signing.json')
  const input = cases.map((one) =>
    [one.secret, one.method, one.target, one.timestamp, one.nonce, bodyOf(one)]
      .map((field) => Buffer.from(field as string | Buffer).toString('base64'))
      .join('\t'),
  )
  const expected = cases.map(({ signature }) => signature)
  for (const block of blocks.filter(({ marks }) => marks.run === 'vectors')) {
    test(`${block.language}, ${placeOf(block)}`, async ({ skip }) => {
      const harness = harnesses[block.language]
      if (!harness) throw new Error(`there is no harness for ${block.language}`)
      await skipUnlessThere(harness, skip)
      expect(await runHarness(harness, block, input)).toEqual(expected)
    })
  }
})

describe('webhook receivers accept and refuse deliveries as the vectors say', async () => {
  const { cases } = await readVectors('webhook-signing.json')
  const base64 = (field: string | Buffer) => Buffer.from(field as string).toString('base64')
  const input = cases.map(({ receiver, ...one }) => {
    const { secrets = [], now_s, headers = {} } = receiver ?? {}
    const given = ['Timestamp', 'Id', 'Signature', 'Signature-Previous'].map((name) => {
      const value = headers[`X-Webhook-${name}`]
      return value === undefined ? '-' : base64(value)
    })
    return [base64(String(now_s)), base64(bodyOf(one)), ...given, ...secrets.map(base64)].join('\t')
  })
  const expected = cases.map(({ valid }) => String(valid))
  for (const block of blocks.filter(({ marks }) => marks.run === 'webhook-vectors')) {
    test(`${block.language}, ${placeOf(block)}`, async ({ skip }) => {
      const harness = receiverHarnesses[block.language]
      if (!harness) throw new Error(`there is no harness for ${block.language}`)
      await skipUnlessThere(harness, skip)
      expect(await runHarness(harness, block, input)).toEqual(expected)
    })
  }
})

describe('examples work against a running store', () => {
  let system: System
  let worker: WorkerProcess
  let folder: string
  let env: Record<string, string>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'shopwire-docs-'))
    system = await startSystem({ admission: 'postgres' })
    env = await openDemoShop(system, folder)
    worker = await startWorker(system.settingsOf('worker'))
    // For the packages that examples import.
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    for (const { marks, code } of blocks)
      if (marks.file) await writeFile(join(folder, marks.file), `${code}\n`)
  }, START_MS_MAX)

  afterAll(async () => {
    await worker?.kill('SIGTERM')
    await system?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const served = blocks.filter(({ marks }) => marks.run === 'service')

  for (const block of served.filter(({ language }) => language === 'js')) {
    test(placeOf(block), async () => {
      const file = join(folder, `example-${block.line}.mjs`)
      await writeFile(file, block.code)
      const { stdout } = await promisify(execFile)(process.execPath, [file], {
        cwd: folder,
        env,
        timeout: PROGRAM_MS_MAX,
      })
      const promised = [...block.code.matchAll(/^console\.log\(.*\) \/\/ ([^:\n]+)/gm)].map(([, what]) =>
        what?.trim(),
      )
      if (promised.length > 0) expect(stdout.trim().split('\n')).toEqual(promised)
    })
  }

  /** The blocks of a page are what somebody types into one shell, one after the other. */
  for (const page of new Set(served.filter(({ language }) => language === 'sh').map((block) => block.page))) {
    test(`${page}, all in one shell`, async () => {
      const parts = served.filter((block) => block.language === 'sh' && block.page === page)
      const script = parts
        .map(({ code, marks }) => (marks.until ? repeated(code, marks.until) : code))
        .join('\n')
      const { stdout } = await promisify(execFile)('bash', ['-eo', 'pipefail', '-c', script], {
        cwd: folder,
        env: { PATH: env.PATH },
        timeout: PROGRAM_MS_MAX,
      })
      expect(stdout).not.toContain('"error"')
      expect(stdout).toContain('"status":"operational"')
      expect(stdout).toMatch(/"status":"delivered".*"links":\["https:[^\]]*","https:/)
    })
  }
})

test('the sample events on the events page have valid signatures and match the schemas of real events', () => {
  const page = pages.find(({ path }) => path === 'docs/reference/events.md')
  const secret = /with the secret `([^`]+)`/.exec(page?.text ?? '')?.[1] ?? ''
  const shown = page ? codeBlocks(page).filter(({ language }) => language === 'http') : []
  expect(shown.length).toBeGreaterThan(4)
  for (const { code } of shown) {
    const [head = '', json = ''] = code.split('\n\n')
    const lines = head
      .split('\n')
      .slice(1)
      .map((line) => line.split(': ') as [string, string])
    const headers = Object.fromEntries(lines.map(([name, value]) => [name.toLowerCase(), value]))
    const body = Buffer.from(JSON.stringify(JSON.parse(json)))
    const nowS = Number(headers['x-webhook-timestamp'])
    expect(verifyWebhook({ secrets: [secret], headers, body, nowS })).toEqual({ ok: true })
  }
})

test('every command line in the pages is run by a test, or is of a kind that is listed with the reason why not', async () => {
  const [tests, commands] = await Promise.all([readTests(), readCommands()])
  const lines = pages.flatMap(commandLinesOf)
  const isRun = ({ line }: CommandLine) => {
    const typed = commandOf(line)
    return typed !== undefined && isNamedIn(tests, commandIn(commands, typed))
  }
  const isListed = ({ page, line }: CommandLine) =>
    NOT_RUN.some(({ lines }) => lines.test(`${page}: ${line}`))
  const notRun = lines.filter((one) => !isRun(one))
  expect(notRun.filter((one) => !isListed(one))).toEqual([])
  expect(NOT_RUN.length).toBeLessThanOrEqual(15)
  const isUsed = (kind: RegExp) => notRun.some(({ page, line }) => kind.test(`${page}: ${line}`))
  expect(NOT_RUN.filter(({ lines }) => !isUsed(lines))).toEqual([])
})

test('every documented command of ours exists, with the options that the pages give it', async () => {
  const commands = await readCommands()
  const wrong = pages.flatMap(commandLinesOf).filter(({ line }) => {
    const typed = commandOf(line)
    // Other programs of the image.
    if (!typed || typed.program.startsWith('shopwire ')) return false
    const known = commandIn(commands, typed)
    const options = [...(commands.get(known) ?? []), ...(commands.get(typed.program) ?? []), '--help']
    const given =
      line
        .replace(/\$\([^)]*\)/g, '')
        .split(/ (?:\||>|&&|-- )/)[0]
        ?.match(/(?<= )--[a-z][\w-]*/g) ?? []
    return (typed.path !== '' && known === typed.program) || given.some((one) => !options.includes(one))
  })
  expect(wrong).toEqual([])
})

test('runbooks: every block that is marked as run is run by a test that names its page or section', async () => {
  const tests = await readTests()
  const marked = pages
    .flatMap(codeBlocks)
    .filter(({ page, marks }) => page.startsWith('docs/runbooks/') && marks.run)
  const isNamed = ({ page, section, marks }: CodeBlock) => {
    const name = basename(page, '.md')
    const isShared = marked.some(
      (other) => other.page === page && other.marks.run === marks.run && other.section !== section,
    )
    const names = [`${name}#${section}`, ...(isShared ? [] : [name])]
    return names.some((where) => new RegExp(`'${where}[' ]`).test(tests))
  }
  const unknown = marked.filter(
    (block) =>
      !isNamed(block) || (!tests.includes(`'${block.marks.run}'`) && !tests.includes(` ${block.marks.run}`)),
  )
  expect(unknown.map(placeOf)).toEqual([])
})

test('the figures that pages repeat are those of what they count', async () => {
  const checks = Number(/^(\d+) checks test a server/m.exec(textOf('docs/conformance.md'))?.[1])
  const { length: scenarios } = allScenarios()
  const parts = await Promise.all(
    ['request', 'webhook'].map(async (kind) => (await readVectors(`${kind}-signing.json`)).cases.length),
  )
  const vectors = [...parts, parts.reduce((sum, count) => sum + count)]
  for (const [counted, wanted] of [
    [/(\d+) checks(?= by an|, all passed)/g, [checks]],
    [/(\d+) (?=failure scenarios)/g, [scenarios]],
    [/(\d+) (?=known answers)|\[(\d+) vectors\]/g, vectors],
  ] as const) {
    const found = pages.flatMap(({ path, text }) =>
      [...text.matchAll(counted)].map(([, one, other]) => ({ path, says: Number(one ?? other) })),
    )
    expect(found.length).toBeGreaterThan(0)
    expect(found.filter(({ says }) => !wanted.includes(says))).toEqual([])
  }
})

test('the maps in README.md and ARCHITECTURE.md name every folder of the repository, and every workspace', async () => {
  const { stdout } = await promisify(execFile)('git', ['ls-files', ':!:.*'], {
    cwd: ROOT,
    maxBuffer: 2 ** 26,
  })
  const folders = new Set(stdout.split('\n').flatMap((path) => /^([^/]+)\//.exec(path)?.[1] ?? []))
  const { workspaces } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  expect([...folders]).toEqual(expect.arrayContaining(workspaces))
  for (const page of ['README.md', 'ARCHITECTURE.md']) {
    const named = mapIn(page).map(([folder]) => folder)
    expect(named.sort(), page).toEqual([...folders].sort())
  }
})

test('the map in ARCHITECTURE.md says of each workspace what .dependency-cruiser.mjs allows it to import', async () => {
  const { workspaces } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    workspaces: string[]
  }
  const { default: rules } = (await import(join(ROOT, '.dependency-cruiser.mjs'))) as {
    default: { forbidden: { name: string; to: { path?: string } }[] }
  }
  const allowed = workspaces.map((folder) => {
    const { to } = rules.forbidden.find(({ name }) => name === `workspace-${folder}`) ?? {}
    const forbidden = /^\^\((.*)\)\/$/.exec(to?.path ?? '')?.[1]?.split('|') ?? []
    return [folder, workspaces.filter((other) => other !== folder && !forbidden.includes(other))]
  })
  const rows = new Map(mapIn('ARCHITECTURE.md'))
  const said = workspaces.map((folder) => [
    folder,
    workspaces.filter((other) => new RegExp(`\\b${other}\\b`).test(rows.get(folder) ?? '')),
  ])
  expect(said).toEqual(allowed)
})

test('links in the pages point to files and headings that exist', async () => {
  const dead: string[] = []
  for (const { path, text } of pages) {
    const prose = text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, 'code')
    for (const [, target = ''] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?:|mailto:|openapi:)/.test(target)) continue
      const [file = '', hash] = target.split('#')
      const wanted = file === '' ? path : posix.normalize(posix.join(dirname(path), file))
      const isThere = await access(join(ROOT, wanted)).then(
        () => true,
        () => false,
      )
      if (!isThere) dead.push(`${path}: ${target}`)
      else if (hash && !headingsOf(await readFile(join(ROOT, wanted), 'utf8')).includes(hash))
        dead.push(`${path}: ${target}`)
    }
  }
  expect(dead).toEqual([])
})

/** The longest command that the line begins with: what follows are arguments. */
function commandIn(
  commands: ReadonlyMap<string, unknown>,
  { program, path }: { program: string; path: string },
): string {
  const words = path.split(' ')
  for (let n = words.length; n > 0; n--) {
    const command = [program, ...words.slice(0, n)].join(' ')
    if (commands.has(command)) return command
  }
  return program
}

function isNamedIn(tests: string, command: string): boolean {
  const [program = '', ...words] = command.split(' ')
  if (words.length === 0) return true
  const path = words.join(' ')
  // One word alone is looked for where a command begins.
  return words.length > 1 ? tests.includes(path) : new RegExp(`(['"\`]|${program} )${path}\\b`).test(tests)
}

/** The rows of a page's table of folders: the folder, and the last cell. */
function mapIn(page: string): [string, string][] {
  const rows = textOf(page).matchAll(/^\| \[?([\w-]+)\/(?:\]\S+)? \|.*?([^|]*) \|$/gm)
  return [...rows].map(([, folder = '', last = '']) => [folder, last])
}

function textOf(path: string): string {
  return pages.find((page) => page.path === path)?.text ?? ''
}

interface VectorCase {
  readonly valid: boolean
  readonly secret: string
  readonly method?: string
  readonly target?: string
  readonly timestamp: string
  readonly nonce?: string
  readonly body_utf8?: string
  readonly body_hex?: string
  readonly signature: string
  readonly receiver?: { secrets: string[]; now_s: number; headers: Record<string, string> }
}

async function readVectors(name: string): Promise<{ cases: VectorCase[] }> {
  return JSON.parse(await readFile(join(ROOT, 'contract/vectors', name), 'utf8'))
}

function bodyOf({ body_utf8, body_hex }: Pick<VectorCase, 'body_utf8' | 'body_hex'>): Buffer {
  return body_hex === undefined ? Buffer.from(body_utf8 ?? '', 'utf8') : Buffer.from(body_hex, 'hex')
}

function placeOf({ page, line }: CodeBlock): string {
  return `${page}:${line}`
}

/** A language without an interpreter on this machine is counted as skipped and printed. */
async function skipUnlessThere({ needs }: Harness, skip: (note: string) => void) {
  const folders = (process.env.PATH ?? '').split(delimiter)
  for (const program of needs) {
    const found = await Promise.allSettled(folders.map((folder) => access(join(folder, program))))
    if (found.every(({ status }) => status === 'rejected')) {
      process.stderr.write(`docs: NOT RUN because ${program} is not installed\n`)
      skip(`${program} is not on this machine`)
    }
  }
}

async function runHarness(
  harness: Harness,
  { code }: CodeBlock,
  input: readonly string[],
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-docs-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries({ ...harness.files, [harness.example]: code }))
    await writeFile(join(folder, name), `${text}\n`)
  const child = spawn('bash', ['-c', harness.command], {
    cwd: folder,
    timeout: PROGRAM_MS_MAX,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(`${input.join('\n')}\n`)
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk
  })
  const [status] = await once(child, 'close')
  expect(status).toBe(0)
  return printed.trim().split('\n')
}

/** What `npm run dev` lays out: the demo catalogue, links to give away, money and a key. */
async function openDemoShop(system: System, folder: string): Promise<Record<string, string>> {
  const catalogue = join(ROOT, 'tools/demo/catalogue.json')
  await system.admin('catalogue', 'import', catalogue)
  const links = Array.from({ length: 20 }, (_, n) => `https://gift.example/docs-${n}`)
  await writeFile(join(folder, 'links.txt'), `${links.join('\n')}\n`)
  await system.admin('pool', 'load', '1144058340327047001', join(folder, 'links.txt'))
  const { account_id, key } = await system.createAccount()
  await system.admin('accounts', 'fund', account_id, '250.00', '--reference', 'docs')
  const env = {
    SHOPWIRE_API_KEY: key.id,
    SHOPWIRE_API_SECRET: key.secret,
    SHOPWIRE_BASE_URL: `http://127.0.0.1:${system.ports[0]}/v1`,
  }
  return { ...env, PATH: process.env.PATH ?? '' }
}

/** A reader looks again when nothing has come yet; so do we. */
function repeated(code: string, wanted: string): string {
  return `for _ in $(seq 50); do answer=$(${code}); case "$answer" in *'${wanted}'*) break;; esac; sleep 0.2; done; echo "$answer"`
}

function headingsOf(text: string): string[] {
  return [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    anchorOf(heading),
  )
}
