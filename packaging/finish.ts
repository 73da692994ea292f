import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeLicenceList } from './licences.ts'
import { packagesOf } from './packages-of.ts'

/** The fields of a workspace's package.json that matter for publishing. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly repository?: { readonly type: string; readonly url: string }
  readonly exports: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

/**
 * Adds readme, licence, those of bundled packages, and a package.json to a built `dist/`. The workspace's package.json is private and names our
 * sources, so only the fields shown in the registry are taken from it.
 */
export async function finishPackage(
  folder: string,
  fields: Readonly<Record<string, unknown>>,
  modules: Iterable<string>,
): Promise<void> {
  const { name, version, description, license } = await readManifest(folder)
  // npm compares it with where the package was built, and refuses provenance that does not fit.
  const { repository } = await readManifest(join(import.meta.dirname, '..'))
  const published = {
    name,
    version,
    description,
    license,
    ...(repository && { repository }),
    ...fields,
    type: 'module',
    publishConfig: { access: 'public', provenance: true },
  }
  const dist = join(folder, 'dist')
  await copyFile(join(folder, 'README.md'), join(dist, 'README.md'))
  await copyFile(join(import.meta.dirname, '../LICENSE'), join(dist, 'LICENSE'))
  const bundled = packagesOf(modules)
  if (bundled.length > 0) await writeLicenceList(dist, bundled)
  await writeFile(join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
}
