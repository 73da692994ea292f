import { fileURLToPath } from 'node:url'
import { freePorts } from '@shopwire/engines'
import { runProgram, type Server, startServer } from './children.ts'

const BIN = fileURLToPath(new URL('../../service/bin/', import.meta.url))
/** Half of the short life of a command is reading its source. */
export const COMPILE_CACHE = fileURLToPath(new URL('../../.data/compile-cache', import.meta.url))

export function migrate(env: Record<string, string>): Promise<string> {
  return runProgram(process.execPath, [`${BIN}migrate.ts`], env)
}

/** What the operator's command prints, as an object. */
// biome-ignore lint/suspicious/noExplicitAny: each command prints an object of its own
export async function runAdmin(env: Record<string, string>, ...args: string[]): Promise<any> {
  return JSON.parse(await runProgram(process.execPath, [`${BIN}admin.ts`, '--json', ...args], env))
}

/** A server of the service on free ports, ready; `log` is a file descriptor. */
export async function startProgram(
  name: 'api' | 'worker',
  env: Readonly<Record<string, string>>,
  log: number,
  profile = false,
): Promise<Server> {
  const [port = 0, healthPort = 0] = await freePorts(2)
  const settings = {
    ...env,
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_PORT: String(port),
    SHOPWIRE_HEALTH_HOST: '127.0.0.1',
    SHOPWIRE_HEALTH_PORT: String(healthPort),
  }
  return startServer([...(profile ? ['--inspect=127.0.0.1:0'] : []), `${BIN}${name}.ts`], settings, {
    port,
    readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
    isReady: (status) => status === 200,
    stdout: log,
  })
}
