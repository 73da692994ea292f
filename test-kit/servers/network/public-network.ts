import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Public addresses that belong to this machine inside the network below, and only there. */
export const PUBLIC_ADDRESSES = ['93.184.216.34', '93.184.216.35'] as const

const ENTER = fileURLToPath(new URL('./public-network.sh', import.meta.url))

/** The command that runs `command` in a network namespace where the public addresses are this machine. */
export function inPublicNetwork(...command: string[]): [string, ...string[]] {
  return ['unshare', '--net', '--mount', ENTER, ...command]
}

/** Why nothing happens where the next function returns false. */
export const NO_PUBLIC_NETWORK =
  'no network of its own can be made here: it takes Linux and root (unshare --net)'

/** Whether the system can do it and the required privileges are available. */
export function canMakePublicNetwork(): boolean {
  const [probe, ...args] = inPublicNetwork('true')
  return spawnSync(probe, args).status === 0
}

export function isInPublicNetwork(): boolean {
  return networkInterfaces().lo?.some(({ address }) => address === PUBLIC_ADDRESSES[0]) ?? false
}

/** Runs this program again in such a network; returns its exit code. */
export async function runAgainInPublicNetwork(): Promise<number> {
  const [command, ...args] = inPublicNetwork(process.execPath, ...process.argv.slice(1))
  const child = spawn(command, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'close')) as [number | null]
  return code ?? 1
}
