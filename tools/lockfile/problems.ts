import { idOf, type Locked, lockedPath, thirdParty } from '../../packaging/locked-packages.ts'

const HASH = /^sha512-([A-Za-z0-9+/]{86}==)$/
/** Of the 64 bytes of a real SHA-512 about 57 differ; never as few as this. */
const DIFFERENT_BYTES_MIN = 32

/** Why `npm ci` would install what nobody has compared, or would leave something out on another platform than this one. */
export function problemsOf(locked: Locked): string[] {
  return [...hashProblems(locked), ...missingPackages(locked)]
}

function hashProblems(locked: Locked): string[] {
  const packages = thirdParty(locked)
  const idsByHash = new Map<string, Set<string>>()
  for (const [path, entry] of packages) {
    const ids = idsByHash.get(entry.integrity ?? '') ?? new Set()
    idsByHash.set(entry.integrity ?? '', ids.add(idOf(path, entry)))
  }
  return packages.flatMap(([path, { integrity = '', resolved }]) => {
    const [, hash] = HASH.exec(integrity) ?? []
    const isShared = (idsByHash.get(integrity)?.size ?? 0) > 1
    return [
      hash === undefined && 'has no SHA-512: npm would install whatever the registry sends',
      hash !== undefined &&
        (isShared || new Set(Buffer.from(hash, 'base64')).size < DIFFERENT_BYTES_MIN) &&
        'has a made-up hash: npm can install it nowhere',
      resolved !== undefined &&
        'names the registry it came from: run npm install with omit-lockfile-registry-resolved, as .npmrc says',
    ].flatMap((problem) => (problem === false ? [] : [`${path} ${problem}`]))
  })
}

/**
 * npm leaves out an optional package that the registry did not have when the lockfile was written, without a word, and on the
 * platform it is for the parent then fails to start.
 */
function missingPackages(locked: Locked): string[] {
  return Object.entries(locked).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => lockedPath(locked, path, name) === undefined)
      .map(
        (name) =>
          `${path || 'package.json'} needs ${name} on some platform, and it is not locked: choose a version of which the registry has the packages of every platform`,
      ),
  )
}
