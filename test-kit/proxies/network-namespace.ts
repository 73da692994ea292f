import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A network of its own for one program, with one cable to this machine that can be pulled. Needs root. */
export interface NetworkNamespace {
  /** This machine, as the program there reaches it. */
  readonly address: string
  /** A program that runs the other one in there, with the same arguments and open files. */
  launcherOf(program: string): Promise<string>
  /** The program loses its network, and its system says so. */
  pull(): Promise<void>
  plugIn(): Promise<void>
  remove(): Promise<void>
}

/** `net`: the third number of its addresses, so that two of them do not meet. */
export async function makeNetworkNamespace(net: number): Promise<NetworkNamespace> {
  const name = `shopwire${process.pid}`
  const [outside, inside] = [`sw${process.pid}o`, `sw${process.pid}i`]
  const [address, own] = [`10.213.${net}.1`, `10.213.${net}.2`]
  const ip = (...args: string[]) => run('ip', args)
  const within = (...args: string[]) => ip('-n', name, ...args)
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-network-'))
  await ip('netns', 'add', name)
  await ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', inside, 'netns', name)
  await ip('address', 'add', `${address}/24`, 'dev', outside)
  await ip('link', 'set', outside, 'up')
  await within('address', 'add', `${own}/24`, 'dev', inside)
  await within('link', 'set', 'lo', 'up')
  await within('link', 'set', inside, 'up')
  return {
    address,
    async launcherOf(program) {
      const launcher = join(folder, 'launch')
      await writeFile(launcher, `#!/bin/sh\nexec ip netns exec ${name} ${program} "$@"\n`)
      await chmod(launcher, 0o755)
      return launcher
    },
    pull: async () => void (await within('link', 'set', inside, 'down')),
    plugIn: async () => void (await within('link', 'set', inside, 'up')),
    async remove() {
      await ip('netns', 'delete', name)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
