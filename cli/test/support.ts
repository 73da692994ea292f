import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { startWebhookReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { afterAll, beforeAll } from 'vitest'

/** The published program, built by `global-setup.ts`. */
export const program = fileURLToPath(new URL('../dist/shopwire.mjs', import.meta.url))
/** Of the emulator's catalogue: Aurora Ring, 499 cents. */
export const ITEM = '1144058340327047001'

const undo: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const one of undo.reverse()) await one()
})

/** A temporary folder for this test file, removed at its end. */
export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'shopwire-cli-'))
  undo.push(() => rm(path, { recursive: true, force: true }))
  return path
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly input?: string
  readonly cwd?: string
}

const nowhere = join(tmpdir(), 'shopwire-cli-no-such-folder')

/** A clean environment without our variables and profiles. */
export function strangersEnv(env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: nowhere, XDG_CONFIG_HOME: nowhere, ...env }
}

/** Runs the built program until it exits. */
export function shopwire(args: readonly string[], { env, input = '', cwd }: RunOptions = {}): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], { env: strangersEnv(env), cwd })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => {}).end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Starts one emulator for the calling tests, with higher rate limits than a store, and runs the program with its key. */
export function emulatedStore() {
  let emulator: Emulator | undefined
  beforeAll(async () => {
    emulator = await startEmulator({ requestsPerMinute: 1_000, ordersPerMinute: 1_000 })
  })
  afterAll(() => emulator?.stop())
  const run = (...args: string[]) => shopwire(args, { env: store.env })
  const store = {
    get emulator() {
      return emulator as Emulator
    },
    get env() {
      return envOf(store.emulator)
    },
    run,
    json: async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout),
  }
  return store
}

/** Runs the program on a terminal made by `script`. Input is sent when the program prompts for it. */
export function onTerminal(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  typed: string,
  after: RegExp,
): Promise<Ended> {
  const command = [process.execPath, program, ...args]
  const quoted = command.map((word) => `'${word}'`).join(' ')
  // macOS has the script of BSD, which takes the words of the command after the file.
  const scriptArgs =
    process.platform === 'linux' ? ['-qefc', quoted, '/dev/null'] : ['-q', '/dev/null', ...command]
  const child = spawn('script', scriptArgs, {
    env: strangersEnv({ TERM: 'xterm', SHELL: '/bin/sh', ...env }),
  })
  let stdout = ''
  let isTyped = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (isTyped || !after.test(stdout)) return
    isTyped = true
    child.stdin.write(typed)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ code, stdout, stderr: '' }))
  })
}

export function envOf({ baseUrl, key }: Pick<Emulator, 'baseUrl' | 'key'>): NodeJS.ProcessEnv {
  return { SHOPWIRE_BASE_URL: baseUrl, SHOPWIRE_API_KEY: key.id, SHOPWIRE_API_SECRET: key.secret }
}

/** A webhook receiver that closes at the end of this test file. */
export async function receiver(status = 200) {
  const inbox = await startWebhookReceiver()
  inbox.answersWith(status)
  undo.push(inbox.close)
  return inbox
}
