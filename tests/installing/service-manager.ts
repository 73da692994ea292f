import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import { capture, type Settings } from '@shopwire/test-kit/systems'

/**
 * Stands in for systemd, which only runs as the first process of a machine: starts and stops the processes of units, for a `systemctl` that
 * asks it. Knows what deploy/upgrade/rolling uses.
 */
export interface ServiceManager {
  /** Has a `systemctl`; goes first in the PATH. */
  readonly bin: string
  /** What it was asked, in order. */
  readonly asked: readonly string[]
  start(unit: string): void
  /** Everything the processes printed. */
  logs(): string
  /** Units whose process ended without having been asked to. */
  crashed(): string[]
  stopAll(): Promise<void>
}

export interface Unit {
  readonly role: 'api' | 'worker'
  readonly settings: Settings
}

export async function startServiceManager(
  program: string,
  bin: string,
  units: ReadonlyMap<string, Unit>,
): Promise<ServiceManager> {
  const running = new Map<string, ChildProcess>()
  const asked: string[] = []
  const printed: (() => string)[] = []
  const ended: string[] = []

  function start(name: string): void {
    const unit = units.get(name)
    if (!unit) throw new Error(`there is no unit ${name}`)
    const child = spawn(program, [unit.role], {
      env: { PATH: process.env.PATH, ...unit.settings },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    printed.push(capture(child, 'stdout'), capture(child, 'stderr'))
    running.set(name, child)
    child.on('exit', () => {
      if (running.get(name) !== child) return
      running.delete(name)
      ended.push(name)
    })
  }

  async function stop(name: string): Promise<void> {
    const child = running.get(name)
    if (!child) return
    running.delete(name)
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }

  async function answer(words: readonly string[]): Promise<string> {
    const [command] = words
    const name = words.at(-1) ?? ''
    if (command === 'list-units') {
      const pattern = new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
      return [...running.keys()]
        .filter((unit) => pattern.test(unit))
        .sort()
        .map((unit) => `${unit} loaded active running Shopwire\n`)
        .join('')
    }
    if (command === 'stop') await stop(name)
    else if (command === 'start') start(name)
    else throw new Error(`systemctl ${words.join(' ')} is not expected`)
    return ''
  }

  const server = await startHttpServer(async (request, response) => {
    const body = await text(request)
    asked.push(body)
    answer(body.split(' ')).then(
      (printed) => response.end(printed),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  await writeFile(
    join(bin, 'systemctl'),
    `#!/bin/sh\nexec curl -fsS --data-raw "$*" http://127.0.0.1:${server.port}/\n`,
  )
  await chmod(join(bin, 'systemctl'), 0o755)
  return {
    bin,
    asked,
    start,
    logs: () => printed.map((one) => one()).join(''),
    crashed: () => ended,
    async stopAll() {
      for (const child of running.values()) child.kill('SIGKILL')
      running.clear()
      await server.close()
    },
  }
}
