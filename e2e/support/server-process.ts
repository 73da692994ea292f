import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePorts, until } from '@shopwire/engines'
import { capture, type ProgramName, type Settings, spawnProgram } from './program.ts'

/** One long-running process of the service on ports of its own, which it keeps over restarts. */
export interface ServerProcess {
  readonly healthUrl: string
  pid(): number | undefined
  /** Everything printed so far, by all its lives. */
  logs(): string
  /** Sends the signal at once; settles with the exit code when the process is gone, null when the signal ended it. */
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** Starts it again, with other settings if given, and waits until it is ready. */
  start(changed?: Settings): Promise<void>
  /** The end of its log if it ended without having been asked to; a test that passes beside a crash has not passed. */
  crash(): string | undefined
  /** Status of /readyz, or undefined when nobody answers. */
  readiness(): Promise<number | undefined>
}

export interface Api extends ServerProcess {
  readonly port: number
  readonly url: string
}

export async function startApi(settings: Settings): Promise<Api> {
  const [port = 0] = await freePorts(1)
  const server = await startServer('api', { ...settings, SHOPWIRE_PORT: String(port) })
  return { ...server, port, url: `http://127.0.0.1:${port}` }
}

export function startWorker(settings: Settings): Promise<ServerProcess> {
  return startServer('worker', settings)
}

const READY_MS_MAX = 60_000
const LOG_TAIL = 3_000

async function startServer(name: ProgramName, settings: Settings): Promise<ServerProcess> {
  const [healthPort = 0] = await freePorts(1)
  const healthUrl = `http://127.0.0.1:${healthPort}`
  const lives: (() => string)[] = []
  let current = settings
  let child: ChildProcess | undefined
  let isAsked = false

  const logs = () => lives.map((printed) => printed()).join('')
  const isGone = () => child === undefined || child.exitCode !== null || child.signalCode !== null
  const readiness = () =>
    fetch(`${healthUrl}/readyz`).then(
      async (response) => {
        await response.text()
        return response.status
      },
      () => undefined,
    )
  const server: ServerProcess = {
    healthUrl,
    pid: () => (isGone() ? undefined : child?.pid),
    logs,
    readiness,
    crash: () => (isGone() && !isAsked ? logs().slice(-LOG_TAIL) : undefined),
    async kill(signal) {
      if (!child || isGone()) throw new Error(`this ${name} process is not running`)
      isAsked = true
      const exited = once(child, 'exit')
      child.kill(signal)
      const [code] = (await exited) as [number | null]
      return code
    },
    async start(changed = {}) {
      if (!isGone()) throw new Error(`this ${name} process is already running`)
      current = { ...current, ...changed }
      isAsked = false
      child = spawnProgram(name, [], { ...current, SHOPWIRE_HEALTH_PORT: String(healthPort) })
      lives.push(capture(child, 'stdout'), capture(child, 'stderr'))
      const isReady = async () => isGone() || (await readiness()) === 200
      await until(isReady, READY_MS_MAX, () => `a process is not ready:\n${logs().slice(-LOG_TAIL)}`)
      if (isGone()) throw new Error(`a process ended at its start:\n${logs().slice(-LOG_TAIL)}`)
    },
  }
  await server.start()
  return server
}
