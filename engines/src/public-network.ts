import { spawnSync } from 'node:child_process'
import { networkInterfaces } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Public addresses that belong to this machine inside the network below, and only there. */
export const PUBLIC_ADDRESSES = ['93.184.216.34', '93.184.216.35'] as const

const ENTER = fileURLToPath(new URL('../public-network.sh', import.meta.url))

/** The command that runs `command` in a network of its own where the public internet is this machine. */
export function inPublicNetwork(...command: string[]): [string, ...string[]] {
  return ['unshare', '--net', '--mount', ENTER, ...command]
}

/** Needs rights that not every machine gives. */
export function canMakePublicNetwork(): boolean {
  const [probe, ...args] = inPublicNetwork('true')
  return spawnSync(probe, args).status === 0
}

export function isInPublicNetwork(): boolean {
  return networkInterfaces().lo?.some(({ address }) => address === PUBLIC_ADDRESSES[0]) ?? false
}
