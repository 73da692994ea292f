import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { isPublicAddress } from '../../platform/outbound/public-address.ts'

/** What this machine, or this container, reports about itself and about the process. */
export interface MachineFacts {
  readonly node: string
  readonly isRoot: boolean
  /** A container's file system is not shared with other users, and other addresses are those of the container. */
  readonly isContainer: boolean
  /** Node raises its own limit to the highest allowed one; this is that limit. */
  readonly filesMax: number | undefined
  /** Bytes of memory that a crash may write to a file. */
  readonly coreMax: number | undefined
  readonly publicAddresses: readonly string[]
  folder(path: string): FolderFacts
  /** Names of the files in a folder that belong to another user than the folder, or that this process cannot read. */
  unusableFiles(folder: string): string[]
  /** The device that a path is on; undefined when the path does not exist or cannot be read. */
  deviceOf(path: string): number | undefined
  /** Milliseconds since the file was written; undefined when there is no such file. */
  ageOf(path: string): number | undefined
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
        isWritable: mayAccess(path, constants.W_OK | constants.X_OK),
        freeBytes: bavail * bsize,
        freeShare: blocks === 0 ? 1 : bavail / blocks,
      }
    },
    unusableFiles(folder) {
      const { uid } = statSync(folder)
      return readdirSync(folder).filter((name) => {
        const path = join(folder, name)
        const file = statSync(path, { throwIfNoEntry: false })
        return file !== undefined && (file.uid !== uid || !mayAccess(path, constants.R_OK))
      })
    },
    deviceOf(path) {
      try {
        return statSync(path).dev
      } catch {
        return undefined
      }
    },
    ageOf(path) {
      const file = statSync(path, { throwIfNoEntry: false })
      return file && Date.now() - file.mtimeMs
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

function mayAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
