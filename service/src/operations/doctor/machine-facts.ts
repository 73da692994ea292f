import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { isPublicAddress } from '../../platform/public-address.ts'

/** What this machine, or this container, says about itself and about the process. */
export interface MachineFacts {
  readonly node: string
  readonly isRoot: boolean
  /** In a container nobody else shares the file system, and other addresses are those of the container. */
  readonly isContainer: boolean
  /** Node raises its own limit to the highest that it may have; this one. */
  readonly filesMax: number | undefined
  /** Bytes of memory that a crash may write to a file. */
  readonly coreMax: number | undefined
  readonly publicAddresses: readonly string[]
  folder(path: string): FolderFacts
  /** Permission bits; undefined when there is no such file. */
  modeOf(path: string): number | undefined
}

export interface FolderFacts {
  readonly isWritable: boolean
  readonly freeBytes: number
  readonly freeShare: number
}

const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io']

export function readMachineFacts(): MachineFacts {
  return {
    node: process.versions.node,
    isRoot: process.getuid?.() === 0,
    isContainer: CONTAINER_MARKS.some((path) => existsSync(path)),
    filesMax: readLimit('Max open files', 'hard'),
    coreMax: readLimit('Max core file size', 'soft'),
    publicAddresses: Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .map(({ address }) => address)
      .filter(isPublicAddress),
    folder(path) {
      const { bavail, blocks, bsize } = statfsSync(path)
      return {
        isWritable: isWritable(path),
        freeBytes: bavail * bsize,
        freeShare: blocks === 0 ? 1 : bavail / blocks,
      }
    },
    modeOf: (path) => statSync(path, { throwIfNoEntry: false })?.mode,
  }
}

/** Undefined where there is no /proc. */
function readLimit(name: string, which: 'soft' | 'hard'): number | undefined {
  if (!existsSync('/proc/self/limits')) return undefined
  const line = new RegExp(`^${name}\\s+(\\S+)\\s+(\\S+)`, 'm')
  const [, soft, hard] = line.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  const limit = which === 'soft' ? soft : hard
  return limit === undefined || limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit)
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
