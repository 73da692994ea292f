import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * The tree of this version, for `docker build`; its label takes the version from the Dockerfile. What `.dockerignore` names stays out, as it does
 * for `docker build .`: the secrets of a store that is run from this folder among it. Returns the name of the archive.
 */
export async function packContext(root: string, folder: string, version: string): Promise<string> {
  const name = `shopwire-image-${version}.tar.gz`
  const ignored = (await readFile(join(root, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
  const excluded = ignored.map((pattern) => `--exclude=${asTarPattern(pattern)}`)
  await promisify(execFile)('tar', ['-czf', join(folder, name), ...excluded, '.'], { cwd: root })
  return name
}

/** tar matches a name at any depth, and a path from the folder that it packs. */
function asTarPattern(pattern: string): string {
  if (/^[#!]/.test(pattern)) throw new Error(`.dockerignore: no way is known to give "${pattern}" to tar`)
  if (pattern.startsWith('**/')) return pattern.slice('**/'.length)
  return `./${pattern}`
}
