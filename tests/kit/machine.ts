import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '@shopwire/test-kit/servers'
import type { Ended } from '@shopwire/test-kit/systems'
import { attempt } from './command.ts'
import { ROOT, WORK } from './root-folders.ts'

const BOOT = fileURLToPath(new URL('./boot-machine.sh', import.meta.url))
const NAME = 'shopwire-kit-machine'
const SOON_MS = 120_000

/** A machine with Debian's systemd as its first process; see boot-machine.sh. */
export interface Machine {
  /** Runs it as root in the clone, by a login's environment; stderr goes where stdout goes. */
  run(command: string, input?: string): Promise<Ended>
  /** Everything of it is gone afterwards. */
  remove(): Promise<void>
}

export async function bootMachine(env: Readonly<Record<string, string>>): Promise<Machine> {
  const folder = join(WORK, 'machine')
  const booted = spawn('sh', [BOOT, NAME, folder, ROOT], { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = once(booted, 'exit')
  const first = async () =>
    Number((await readFile(`/proc/${booted.pid}/task/${booted.pid}/children`, 'utf8')).trim())
  const run = async (command: string, input = '') => {
    const inside = ['--target', String(await first()), '--all', '--root', '--wdns=/srv/shopwire']
    const login = Object.entries({
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/root',
      USER: 'root',
      LC_ALL: 'C.UTF-8',
      ...env,
    }).map(([name, value]) => `${name}=${value}`)
    const script = ['bash', '-euo', 'pipefail', '-c', `exec 2>&1\n${command}`]
    return attempt('nsenter', [...inside, 'env', '-i', ...login, ...script], { input })
  }
  const remove = async () => {
    const pid = await first().catch(() => 0)
    // The first process of a namespace takes all others with it.
    if (pid > 0) process.kill(pid, 'SIGKILL')
    await ended
    for (const hierarchy of ['systemd', 'unified', '.'])
      await removeGroup(join('/sys/fs/cgroup', hierarchy, NAME))
    await rm(folder, { recursive: true, force: true })
  }
  let state = ''
  try {
    await until(
      async () => {
        if (booted.exitCode !== null) throw new Error('the machine does not boot')
        state = await run('systemctl is-system-running || true').then(
          ({ stdout, stderr }) => `${stdout}${stderr}`.trim(),
          () => '',
        )
        return /running|degraded/.test(state)
      },
      SOON_MS,
      () => `systemd does not come up: ${state}`,
    )
  } catch (error) {
    await remove()
    throw error
  }
  return { run, remove }
}

async function removeGroup(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined)
  if (entries === undefined) return
  for (const entry of entries) if (entry.isDirectory()) await removeGroup(join(path, entry.name))
  await rmdir(path).catch(() => {})
}
