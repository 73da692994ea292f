import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** As far as we look into it: CycloneDX 1.5. */
export interface Sbom {
  readonly metadata: { readonly component: object }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly purl: string
}

export interface Content {
  /** As `name@version`. */
  readonly packages: readonly string[]
  readonly version: string
}

const BYTES_MAX = 64 * 1024 * 1024

/**
 * What the image adds to its base, as CycloneDX: npm describes everything in the lock file, with licences and checksums, and this keeps
 * what was bundled or copied. Fails when something in the image is not in the lock file.
 */
export async function sbomOf(root: string, { packages, version }: Content): Promise<Sbom> {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'],
    { cwd: root, maxBuffer: BYTES_MAX },
  )
  const whole = JSON.parse(stdout) as Sbom
  const dependsOn = new Map(whole.dependencies.map((one) => [one.ref, one.dependsOn]))
  const wanted = new Set(packages)
  const components = whole.components.filter((one) => wanted.has(one['bom-ref']))
  const known = new Set(components.map((one) => one['bom-ref']))
  const unknown = [...wanted].filter((one) => !known.has(one))
  if (unknown.length > 0)
    throw new Error(
      `In the image, but not in package-lock.json: ${unknown.join(', ')}. Run npm ci and build again.`,
    )
  const node = `node@${process.versions.node}`
  return {
    ...whole,
    metadata: {
      ...whole.metadata,
      component: {
        'bom-ref': `shopwire-image@${version}`,
        type: 'container',
        name: 'shopwire',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components: [
      ...components,
      {
        'bom-ref': `${node}#runtime`,
        type: 'platform',
        name: 'node',
        version: process.versions.node,
        purl: `pkg:generic/${node}`,
      } as Component,
    ],
    dependencies: [...known].map((ref) => ({
      ref,
      dependsOn: (dependsOn.get(ref) ?? []).filter((one) => known.has(one)),
    })),
  }
}
