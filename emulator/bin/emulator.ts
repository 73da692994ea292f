#!/usr/bin/env node
import { access, constants, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { findNpm, type Npm } from '@shopwire/test-kit/servers'
import { ArgumentError, type Arguments, HELP, readArguments, whyNotThisNode } from '../src/arguments.ts'
import type { Emulator } from '../src/index.ts'

const MISUSE = 2
/** Ctrl-C sends the signal from the terminal, and npm sends it again. */
const SAME_SIGNAL_MS_MAX = 500
const startedMs = performance.now()
const isTerminal = process.stderr.isTTY === true

interface Webhook {
  readonly url: string
  readonly secret: string
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'its folder does not exist',
  EISDIR: 'it is a folder',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'nothing can be written there',
}
const ENV_FILE_TITLE = '# Written by the Shopwire emulator: play money, the same key at every start.'
const OPEN_TO_ALL =
  'Anyone who can reach this port can use the emulator, including its control interface and webhook secret: its key is public.\n'

await main()

async function main(): Promise<void> {
  const given = readGiven()
  if (!given) return
  if (given.isHelp) return void process.stdout.write(HELP)
  if (given.isVersion) return void process.stdout.write(`${version()}\n`)
  const tooOld = whyNotThisNode(process.versions.node)
  if (tooOld !== undefined) {
    process.stderr.write(`${tooOld}\n`)
    process.exitCode = MISUSE
    return
  }
  if (given.envFile !== undefined && (await isSomebodyElses(given.envFile))) {
    process.stderr.write(
      `${given.envFile} was not written by the emulator and was not changed. Choose another file, such as --write-env .env.emulator\n`,
    )
    process.exitCode = MISUSE
    return
  }
  const hindrance = given.envFile === undefined ? undefined : await whyNotWritable(given.envFile)
  if (hindrance !== undefined) {
    process.stderr.write(`${given.envFile} cannot be written: ${hindrance}. Name another file.\n`)
    process.exitCode = MISUSE
    return
  }
  if (!isForThisMachine(given.options.host)) process.stderr.write(OPEN_TO_ALL)
  // Read before the parent can exit.
  const npm = findNpm('shopwire-emulator')
  progress('loading', given)
  // Loaded only now, so that a wrong option is reported at once.
  const { startEmulator } = await import('../src/index.ts')
  const starting = startEmulator({
    ...given.options,
    onProgress: (what) => progress(what, given),
    onDatabaseEnded(why) {
      process.stderr.write(`${why}\n`)
      ending.begin(1)
    },
  })
  const ending = endWith(starting, npm)
  try {
    const emulator = await starting
    if (ending.isUnderWay()) return
    const { webhook } = await emulator.control<{ webhook: Webhook | null }>('GET', '')
    if (given.envFile !== undefined) await writeEnvFile(given.envFile, emulator, webhook)
    clearProgress()
    process.stdout.write(
      given.isJson ? `${JSON.stringify(ready(emulator))}\n` : greeting(emulator, webhook, given),
    )
  } catch (error) {
    if (ending.isUnderWay()) return
    clearProgress()
    fail(error as Error)
    await starting.then((emulator) => emulator.stop()).catch(() => {})
    process.exit()
  }
}

function version(): string {
  return (createRequire(import.meta.url)('../package.json') as { version: string }).version
}

function readGiven(): Arguments | undefined {
  try {
    return readArguments(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    process.stderr.write(`${error.message}\nshopwire-emulator --help lists the options.\n`)
    process.exitCode = MISUSE
    return undefined
  }
}

interface Ending {
  begin(exitCode: number): void
  isUnderWay(): boolean
}

/** The first signal stops everything gracefully, also during the start; a second one ends the process and its database at once. */
function endWith(starting: Promise<Emulator>, npm: Npm | undefined): Ending {
  let sinceMs: number | undefined
  const end = async (exitCode: number) => {
    clearProgress()
    // A failed start has already stopped its parts.
    const emulator = await starting.catch(() => undefined)
    try {
      await emulator?.stop()
      process.exit(exitCode)
    } catch (error) {
      process.stderr.write(`It did not stop gracefully: ${(error as Error).message}\n`)
      process.exit(1)
    }
  }
  const begin = (exitCode: number) => {
    if (sinceMs !== undefined) return
    sinceMs = performance.now()
    void end(exitCode)
  }
  const onSignal = () => {
    if (sinceMs !== undefined && performance.now() - sinceMs > SAME_SIGNAL_MS_MAX) process.exit(1)
    begin(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  npm?.onGone(() => begin(0))
  return { begin, isUnderWay: () => sinceMs !== undefined }
}

function progress(what: string, { isJson }: Arguments): void {
  if (isTerminal && !isJson) process.stderr.write(`\r\x1b[K… ${what}`)
}

function clearProgress(): void {
  if (isTerminal) process.stderr.write('\r\x1b[K')
}

function ready({ baseUrl, url, accountId, key }: Emulator) {
  return { base_url: baseUrl, url, account_id: accountId, key, pid: process.pid, version: version() }
}

function greeting(
  { baseUrl, url, accountId, key }: Emulator,
  webhook: Webhook | null,
  { options, envFile }: Arguments,
): string {
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const data = options.data === undefined ? 'Ctrl-C deletes all data' : `the data stays in ${options.data}`
  return `Shopwire emulator ${version()}, ready in ${seconds} s. Play money: nothing here is real; ${data}.

  Base URL   ${baseUrl}
  Key        ${key.id}
  Secret     ${key.secret}
  Account    ${accountId}
  Page       ${url}/   requests, orders, deliveries and faults
${webhook ? `  Events     to ${webhook.url}, signed with ${webhook.secret}\n` : ''}${envFile === undefined ? '' : `  Written    ${envFile}, for node --env-file=${envFile}\n`}
  curl ${baseUrl}/status
  new Shopwire({ baseUrl: '${baseUrl}', keyId: '${key.id}', secret: '${key.secret}' })

`
}

/** A file that the emulator did not write is never overwritten. */
async function isSomebodyElses(path: string): Promise<boolean> {
  // A file that cannot be read was not written by the emulator either.
  const text = await readFile(path, 'utf8').catch((error) => (error.code === 'ENOENT' ? '' : 'unreadable'))
  return text !== '' && !text.startsWith(ENV_FILE_TITLE)
}

/** Checked before anything is started. */
async function whyNotWritable(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return access(dirname(path), constants.W_OK)
    })
    await file?.close()
    return undefined
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    return REASONS[code] ?? message
  }
}

/** The variable names that the SDK and the command line read. */
async function writeEnvFile(
  path: string,
  { baseUrl, key }: Emulator,
  webhook: Webhook | null,
): Promise<void> {
  const lines = [
    ENV_FILE_TITLE,
    `SHOPWIRE_BASE_URL=${baseUrl}`,
    `SHOPWIRE_API_KEY=${key.id}`,
    `SHOPWIRE_API_SECRET=${key.secret}`,
    ...(webhook ? [`SHOPWIRE_WEBHOOK_SECRET=${webhook.secret}`] : []),
  ]
  // Never readable by others, not even briefly; a symbolic link is replaced, not followed.
  const scratch = `${path}.${process.pid}.part`
  try {
    await writeFile(scratch, `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
    await rename(scratch, path)
  } catch (error) {
    await rm(scratch, { force: true })
    throw error
  }
}

function isForThisMachine(host = 'localhost'): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
}

interface Failure extends Error {
  readonly code?: string
  readonly port?: number
  readonly hostname?: string
  readonly address?: string
  readonly isInUse?: boolean
}

function fail(error: Failure): void {
  process.exitCode = 1
  process.stderr.write(`${inWords(error)}\n`)
}

/** What happened, and what to do. */
function inWords({ name, message, code = '', port, hostname, address, isInUse }: Failure): string {
  if (name === 'PortTaken' || code === 'EADDRINUSE')
    return `Port ${port} is in use, perhaps by another emulator. Stop it, or choose another: --port ${Number(port) + 1}`
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL')
    return `${hostname ?? address} is not an address of this machine. --host is 127.0.0.1, localhost or 0.0.0.0.`
  if (name === 'UnusableFolder' && isInUse)
    return `${message}, perhaps of another emulator. Stop it, or choose another folder: --data FOLDER`
  if (name === 'UnusableFolder')
    return `${message}. Choose another folder, such as --data .shopwire, or leave --data out to keep no data.`
  return message
}
