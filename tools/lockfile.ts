import { readFile } from 'node:fs/promises'
import { INTEGRITY_OF_NOTHING, type LockEntry, type Locked } from '../packaging/locked-packages.ts'

const NAME =
  /(?:^|-)(android|darwin|freebsd|linux|openharmony|win32|wasm32)(?:-([a-z0-9]+))?(?:-([a-z0-9]+))?$/

/**
 * The lockfile with an entry for every optional package, those of other platforms too. A registry that does not carry them
 * makes npm leave them out, and `npm ci` then refuses the file as out of step, on every platform. Nobody has seen what such a
 * package contains, so its integrity is one that no package has; where it is needed, remove the entry and run `npm install`.
 */
export async function completeLockfile(): Promise<string> {
  const lock = JSON.parse(await readFile('package-lock.json', 'utf8')) as {
    packages: Record<string, LockEntry>
  }
  for (const { optionalDependencies = {} } of Object.values(lock.packages)) {
    for (const [name, range] of Object.entries(optionalDependencies)) {
      const path = `node_modules/${name}`
      if (!lock.packages[path]?.integrity) lock.packages[path] = foreignBinary(name, range)
    }
  }
  const paths = Object.keys(lock.packages).sort()
  lock.packages = Object.fromEntries(paths.map((path) => [path, lock.packages[path] as LockEntry]))
  return `${JSON.stringify(lock, null, 2)}\n`
}

/** What npm would have written, as far as the name shows it: enough to see that it is not for this machine. */
function foreignBinary(name: string, range: string): LockEntry & Record<string, unknown> {
  const [, system = '', processor, abi = ''] = NAME.exec(name) ?? []
  const libc = abi.startsWith('musl') ? ['musl'] : abi.startsWith('gnu') ? ['glibc'] : undefined
  return {
    version: range.replace(/^[~^]/, ''),
    integrity: INTEGRITY_OF_NOTHING,
    cpu: [system === 'wasm32' ? 'wasm32' : (processor ?? 'x64')],
    dev: true,
    ...(system === 'linux' && libc && { libc }),
    optional: true,
    ...(system !== 'wasm32' && { os: [system] }),
  }
}

/** Entries that npm would install without comparing what it received with anything. */
export function unverified(packages: Locked): string[] {
  return Object.entries(packages)
    .filter(([path, { link, integrity }]) => {
      return path.includes('node_modules/') && !link && !integrity?.startsWith('sha512-')
    })
    .map(([path]) => path)
}
