import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { examples } from '@shopwire/contract/published'
import { signatureMatches } from '@shopwire/contract/signing'
import { buildPackage, packAndInstall, run } from '../../../packaging/pack.ts'
import { type Arrived, answer, hangUp, refuse, type Step, startServer } from '../scripted-server.ts'
import { BUN, DENO, type Installable, installRuntime, node, WORKERD } from './install.ts'

/**
 * The published package on every supported runtime: all vectors, and a few calls to a local server. Runtimes come from npm and
 * stay in `.data/runtimes`; one that cannot be installed is reported as left out. Arguments select runtimes by name.
 */
const RUNTIMES: readonly Runtime[] = [
  { name: 'Node 22', ...node(22), args: ['main.mjs'] },
  { name: 'Node 24', ...node(24), args: ['main.mjs'] },
  { name: 'Node 26', ...node(26), args: ['main.mjs'] },
  { name: 'Bun', ...BUN, args: ['main.mjs'] },
  {
    name: 'Deno',
    ...DENO,
    args: ['run', '--allow-net', '--node-modules-dir=manual', 'main.mjs'],
  },
  { name: 'workerd', ...WORKERD, serves: true, args: ['serve', 'worker.capnp'] },
]

interface Runtime extends Installable {
  readonly name: string
  readonly args: readonly string[]
  /** It is a server: it does not exit by itself. */
  readonly serves?: boolean
}

const here = import.meta.dirname
const RUN_MS_MAX = 60_000
const TAG = '"7-0"'

const chosen = process.argv.slice(2).map((name) => name.toLowerCase())
await buildPackage('sdk')
const packed = await packAndInstall('sdk')
const failed: string[] = []
try {
  await cp(join(here, 'smoke.mjs'), join(packed.consumer, 'smoke.mjs'))
  for (const runtime of RUNTIMES) {
    if (chosen.length > 0 && !chosen.includes(runtime.name.toLowerCase())) continue
    const verdict = await tryOn(runtime)
    process.stdout.write(`${runtime.name}: ${verdict}\n`)
    if (verdict.startsWith('FAILED')) failed.push(runtime.name)
  }
} finally {
  await packed.remove()
}
if (failed.length > 0) process.exitCode = 1

async function tryOn(runtime: Runtime): Promise<string> {
  const program = await installRuntime(runtime).catch(() => undefined)
  if (program === undefined) return 'left out, it could not be installed'
  const version = (await run(program, ['--version'], packed.consumer)).split('\n')[0]
  const server = await startServer([], undefined, store())
  try {
    await writePrograms(server.baseUrl)
    const printed = runtime.serves
      ? await ask(program, runtime.args)
      : await run(program, runtime.args, packed.consumer)
    const wrong = JSON.parse(printed) as string[]
    return wrong.length === 0 ? `passed (${version})` : `FAILED (${version}): ${wrong.join('; ')}`
  } catch (error) {
    return `FAILED (${version}): ${error instanceof Error ? error.message : error}`
  } finally {
    await server.stop()
  }
}

/** One for runtimes that run a file and print, one for those that only answer requests. */
async function writePrograms(baseUrl: string): Promise<void> {
  const cases = async (file: string) =>
    JSON.parse(await readFile(new URL(import.meta.resolve(`@shopwire/contract/vectors/${file}`)), 'utf8'))
      .cases
  const requests = await cases('request-signing.json')
  const events = await cases('webhook-signing.json')
  const smoke = `import { smoke } from './smoke.mjs'\nconst input = ${JSON.stringify({ baseUrl, requests, events })}\n`
  const main = `${smoke}console.log(JSON.stringify(await smoke(input)))`
  const worker = `${smoke}export default { fetch: async () => Response.json(await smoke(input)) }`
  await writeFile(join(packed.consumer, 'main.mjs'), main)
  await writeFile(join(packed.consumer, 'worker.mjs'), worker)
}

/**
 * A test store: checks signatures and timestamps, has a constant catalogue, drops the first answer to an order,
 * delivers the order after its first read, and never answers /balance.
 */
function store(): Step {
  const paid = answer(200, { ...examples.Order, status: 'paid' })
  let orders = 0
  let looks = 0
  return (...given) => {
    const [, arrived] = given
    const { target, headers } = arrived
    const isLate = Math.abs(Date.now() / 1000 - Number(headers['x-api-timestamp'])) > 60
    const play = (step: Step) => step(...given)
    if (isLate) return play(refuse(401, 'timestamp_out_of_range'))
    if (!isGenuine(arrived)) return play(refuse(401, 'authentication_failed'))
    if (headers['if-none-match'] === TAG) return play((response) => void response.writeHead(304).end())
    if (target.startsWith('/v1/catalogue')) return play(answer(200, examples.CataloguePage, { ETag: TAG }))
    if (target === '/v1/orders') return play(orders++ === 0 ? hangUp : answer(200, examples.Order))
    if (target.startsWith('/v1/orders/')) return play(looks++ === 0 ? paid : answer(200, examples.Order))
  }
}

function isGenuine({ method, target, headers, body }: Arrived): boolean {
  const timestamp = String(headers['x-api-timestamp'])
  const nonce = String(headers['x-api-nonce'])
  return signatureMatches('smoke', { method, target, timestamp, nonce, body }, headers['x-api-signature'])
}

/** Starts the runtime as a server, sends one request, and stops it. */
async function ask(program: string, args: readonly string[]): Promise<string> {
  const port = await freePort()
  await writeFile(join(packed.consumer, 'worker.capnp'), await workerConfig(port))
  const child = spawn(program, args, { cwd: packed.consumer, stdio: ['ignore', 'inherit', 'inherit'] })
  try {
    return await answerOf(child, `http://127.0.0.1:${port}/`)
  } finally {
    if (child.exitCode === null && child.kill()) await once(child, 'exit')
  }
}

async function answerOf(child: ChildProcess, url: string): Promise<string> {
  for (const endMs = Date.now() + RUN_MS_MAX; Date.now() < endMs && child.exitCode === null; ) {
    const response = await fetch(url).catch(() => undefined)
    if (response) return response.text()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('it does not answer')
}

/** workerd has no file system: the configuration names every module, and replaces the package's exports. */
async function workerConfig(port: number): Promise<string> {
  const folder = 'node_modules/@shopwire/sdk'
  const files = (await readdir(join(packed.consumer, folder))).filter((file) => file.endsWith('.mjs'))
  const modules = [
    ...['worker.mjs', 'smoke.mjs'].map((file) => `(name = "${file}", esModule = embed "${file}")`),
    ...files.map((file) => `(name = "sdk/${file}", esModule = embed "${folder}/${file}")`),
    `(name = "@shopwire/sdk", esModule = "export * from '../sdk/index.mjs'")`,
    `(name = "@shopwire/sdk/workers", esModule = "export * from '../../sdk/workers.mjs'")`,
  ]
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  compatibilityDate = "2026-01-01",
  modules = [
    ${modules.join(',\n    ')}
  ],
);
`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}
