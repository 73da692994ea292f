import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePorts, until } from '../../servers/index.ts'
import { cpuMs, residentMb } from './process-usage.ts'
import {
  capture,
  type ProgramOptions,
  type Settings,
  type SpawnOptions,
  spawnProgram,
  spawnScript,
} from './program.ts'
import { timed } from './starts.ts'

/** A long-running process on ports of its own, which it keeps when it is started again. */
export interface ServerProcess {
  /** Undefined while it is not running. */
  pid(): number | undefined
  /** Everything printed so far, also before a restart; without stdout when that goes to a file. */
  logs(): string
  /** Sends the signal at once; settles with the exit code when the process is gone, null when the signal ended it. */
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** Starts it again, with other settings if given, and waits until it is ready. */
  start(changed?: Settings): Promise<void>
  /** The end of its log if it ended without having been asked to: a test must not pass beside a crash. */
  crash(): string | undefined
  /** Status of the readiness URL, or undefined when nothing answers. */
  readiness(): Promise<number | undefined>
  /** From the last start of the process until it was ready. */
  readyMs(): number
  /** CPU time used so far, user and kernel. */
  cpuMs(): number
  /** Memory it holds now. */
  residentMb(): number
}

export interface WorkerProcess extends ServerProcess {
  readonly healthUrl: string
}

export interface ApiProcess extends WorkerProcess {
  readonly port: number
  readonly url: string
}

export interface ScriptOptions extends SpawnOptions {
  readonly readyUrl: string
  readonly settings?: Settings
  /** By the status of the readiness URL; 200 by default. */
  readonly isReady?: (status: number) => boolean
}

/** A busy machine may take ten times as long as usual. */
const READY_MS_MAX = 120_000
const LOG_TAIL = 3_000

export async function startApi(settings: Settings, options?: ProgramOptions): Promise<ApiProcess> {
  const [port = 0] = await freePorts(1)
  const api = await startService('api', { ...settings, SHOPWIRE_PORT: String(port) }, options)
  return { ...api, port, url: `http://127.0.0.1:${port}` }
}

export function startWorker(settings: Settings, options?: ProgramOptions): Promise<WorkerProcess> {
  return startService('worker', settings, options)
}

/** At SHOPWIRE_DASHBOARD_ORIGIN if that is given, which a TLS proxy may serve; otherwise at its own port of this machine. */
export async function startDashboard(settings: Settings, options?: ProgramOptions): Promise<ApiProcess> {
  const [port = 0] = await freePorts(1)
  const own = {
    SHOPWIRE_DASHBOARD_ORIGIN: `http://localhost:${port}`,
    ...settings,
    SHOPWIRE_DASHBOARD_HOST: '127.0.0.1',
    SHOPWIRE_DASHBOARD_PORT: String(port),
  }
  const dashboard = await startService('dashboard', own, options)
  return { ...dashboard, port, url: `http://127.0.0.1:${port}` }
}

/** Starts any file as a server. */
export function startScript(
  file: string,
  args: readonly string[],
  { readyUrl, settings = {}, isReady, ...options }: ScriptOptions,
): Promise<ServerProcess> {
  const launch = (current: Settings) => spawnScript(file, args, current, options)
  return startServer(launch, settings, readyUrl, isReady)
}

async function startService(
  name: 'api' | 'worker' | 'dashboard',
  settings: Settings,
  options?: ProgramOptions,
): Promise<WorkerProcess> {
  const [healthPort = 0] = await freePorts(1)
  const healthUrl = `http://127.0.0.1:${healthPort}`
  const launch = (current: Settings) =>
    spawnProgram(name, [], { ...current, SHOPWIRE_HEALTH_PORT: String(healthPort) }, options)
  const start = () => startServer(launch, settings, `${healthUrl}/readyz`)
  return { ...(await timed(`shopwire-${name}`, start)), healthUrl }
}

async function startServer(
  launch: (settings: Settings) => ChildProcess,
  settings: Settings,
  readyUrl: string,
  isReady: (status: number) => boolean = (status) => status === 200,
): Promise<ServerProcess> {
  const printed: (() => string)[] = []
  let current = settings
  let child: ChildProcess | undefined
  let isAsked = false
  let readyMs = 0

  const logs = () => printed.map((text) => text()).join('')
  const isGone = () => child === undefined || child.exitCode !== null || child.signalCode !== null
  const readiness = () =>
    fetch(readyUrl).then(
      async (response) => {
        await response.text()
        return response.status
      },
      () => undefined,
    )
  const server: ServerProcess = {
    pid: () => (isGone() ? undefined : child?.pid),
    logs,
    readiness,
    readyMs: () => readyMs,
    cpuMs: () => cpuMs(child?.pid),
    residentMb: () => residentMb(child?.pid),
    crash: () => (isGone() && !isAsked ? logs().slice(-LOG_TAIL) : undefined),
    async kill(signal) {
      if (!child || isGone()) throw new Error('this process is not running')
      isAsked = true
      const exited = once(child, 'exit')
      child.kill(signal)
      const [code] = (await exited) as [number | null]
      return code
    },
    async start(changed = {}) {
      if (!isGone()) throw new Error('this process is already running')
      current = { ...current, ...changed }
      isAsked = false
      const startedMs = performance.now()
      child = launch(current)
      printed.push(capture(child, 'stdout'), capture(child, 'stderr'))
      const isSettled = async () => isGone() || isReady((await readiness()) ?? 0)
      await until(isSettled, READY_MS_MAX, () => `a process is not ready:\n${logs().slice(-LOG_TAIL)}`)
      if (isGone()) throw new Error(`a process ended at its start:\n${logs().slice(-LOG_TAIL)}`)
      readyMs = performance.now() - startedMs
    },
  }
  await server.start()
  return server
}
