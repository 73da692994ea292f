import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from '@shopwire/test-kit/servers'
import { startSystem } from '@shopwire/test-kit/systems'
import { expect, test } from 'vitest'

const SOON_MS = 60_000
const ANY_PORT = { SHOPWIRE_PORT: '0', SHOPWIRE_HEALTH_PORT: '0' }
const LAUNCHER = fileURLToPath(new URL('../../deploy/image/shopwire', import.meta.url))
const PROGRAMS = String(process.env.SHOPWIRE_PROGRAMS)

test.runIf(process.platform === 'linux')(
  'threat 63: a crash of the installed program leaves no core dump and a signal opens no debugger, where a plain Node does both (on Linux: /proc shows it)',
  async ({ annotate, onTestFinished }) => {
    const system = await startSystem({ admission: 'postgres', apis: 0 })
    onTestFinished(() => system.stop())
    const password = new URL(system.database.processUrls.api).password
    const pattern = (await readFile('/proc/sys/kernel/core_pattern', 'utf8')).trim()
    const place = await mkdtemp(join(tmpdir(), 'shopwire-crash-'))
    onTestFinished(() => rm(place, { recursive: true, force: true }))
    const bin = join(place, 'usr/local/bin')
    await mkdir(bin, { recursive: true })
    await mkdir(join(place, 'app/service'), { recursive: true })
    await cp(LAUNCHER, join(bin, 'shopwire'))
    await symlink(process.execPath, join(bin, 'node'))
    await symlink(PROGRAMS, join(place, 'app/service/dist'))
    const crash = async (command: string) => {
      const cwd = await mkdtemp(join(place, 'cwd-'))
      const child = spawn('sh', ['-c', `ulimit -c unlimited; exec ${command}`], {
        cwd,
        env: { PATH: process.env.PATH, ...system.settingsOf('api'), ...ANY_PORT },
      })
      let said = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          said += chunk.toString()
        })
      await until(
        () => said.includes('"msg":"ready"'),
        SOON_MS,
        () => `not ready:\n${said}`,
      )
      const listens = await catchesUsr1(child.pid ?? 0)
      child.kill('SIGQUIT')
      const [, signal] = await once(child, 'exit')
      expect(signal).toBe('SIGQUIT')
      const cores = await readdir(cwd)
      const found = await Promise.all(cores.map((name) => holds(join(cwd, name), password)))
      return { cores: cores.length, found: found.some(Boolean), listens }
    }
    expect(await crash(`${join(bin, 'shopwire')} api`)).toEqual({ cores: 0, found: false, listens: false })
    const plain = await crash(`'${process.execPath}' '${PROGRAMS}/api.mjs'`)
    // A machine that pipes dumps to a program, or keeps them elsewhere, shows nothing in this folder.
    if (/^core/.test(pattern)) expect(plain).toEqual({ cores: 1, found: true, listens: true })
    else await annotate(`the control was not run: core dumps of this machine go to ${pattern}`)
  },
)

/** Whether the process has a handler for SIGUSR1, with which Node opens a debugger on a local port. */
async function catchesUsr1(pid: number): Promise<boolean> {
  const [, caught = ''] = /^SigCgt:\s*(\S+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return (BigInt(`0x${caught}`) & (1n << BigInt(constants.signals.SIGUSR1 - 1))) !== 0n
}

/** Whether a file that may be large and sparse contains the text. */
async function holds(path: string, text: string): Promise<boolean> {
  const ended = await promisify(execFile)('grep', ['--quiet', '--fixed-strings', '--text', text, path]).then(
    () => 0,
    ({ code }: { code: number }) => code,
  )
  return ended === 0
}
