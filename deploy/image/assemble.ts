import { chmod, cp, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundlePrograms, NOT_BUNDLED } from '../../packaging/bundle-programs.ts'
import { type Part, writeLicenceList } from '../../packaging/licences.ts'
import { BUILT_FROM, type BuiltFrom, packagesOf } from '../../packaging/packages-of.ts'
import { sbomOf } from './sbom.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** What the programs read while they run, besides their code. */
const READ_BY_THE_SERVICE = [
  'service/package.json',
  'service/schema',
  'service/src/access/admission.lua',
  'web/dist/dashboard',
  'deploy/backup/pgbackrest.conf',
]

/**
 * Writes everything the image adds to its base into a folder that stands for `/`: Node, the bundled programs in `/app/service/dist`, what they
 * read, the packages that cannot be bundled, a list of all packages (SBOM) and their licences. `web:build` and `docs:build` must have run.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { docs: { type: 'string', default: join(ROOT, 'docs/.site') } },
})
const [target] = positionals
if (target === undefined) {
  process.stderr.write(
    'usage: node deploy/image/assemble.ts <folder> [--docs <folder of the built portal>]\n',
  )
  process.exit(2)
}
const app = join(target, 'app')
const bin = join(target, 'usr/local/bin')
await rm(app, { recursive: true, force: true })
await mkdir(join(app, 'service/dist'), { recursive: true })
await mkdir(bin, { recursive: true })
// A new volume gets the rights of the folder it is mounted on: whatever user the container has can write the journal.
await mkdir(join(target, 'journal'), { recursive: true })
await chmod(join(target, 'journal'), 0o1777)

const programs = await bundlePrograms(
  (source) => `new URL(${JSON.stringify(`../${source}`)}, import.meta.url).href`,
)
for (const { name, content } of programs) await writeFile(join(app, 'service/dist', name), content)
for (const path of READ_BY_THE_SERVICE) await cp(join(ROOT, path), join(app, path), { recursive: true })
await cp(values.docs, join(app, 'docs'), { recursive: true })
const sites = [await takeOut(join(app, 'web/dist/dashboard')), await takeOut(join(app, 'docs'))]
await cp(join(ROOT, 'LICENSE'), join(app, 'LICENSE'))
const copied = await packagesFor(NOT_BUNDLED)
for (const [name, folder] of copied)
  await cp(folder, join(app, 'node_modules', name), {
    recursive: true,
    dereference: true,
    filter: (path) => !/\.map$|\.d\.[cm]?ts$|\.(browser|standalone)\./.test(path),
  })
await cp(await realpath(process.execPath), join(bin, 'node'))
for (const name of ['shopwire', 'shopwire-admin']) {
  await cp(join(ROOT, 'deploy/image', name), join(bin, name))
  await chmod(join(bin, name), 0o755)
}
const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const packages = [
  ...packagesOf(programs.flatMap(({ modules }) => modules)),
  ...packagesOf([...copied.values()].map((folder) => `${folder}/package.json`)),
  ...sites.flatMap((site) => site.packages),
]
const sbom = await sbomOf(ROOT, { packages, version })
await writeFile(join(app, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 1)}\n`)
await writeLicenceList(app, packages, [await nodeItself()])
process.stdout.write(`${target}: ${programs.length} files of code, ${sbom.components.length} packages\n`)

/** What a built site was made from is for the list only, and not served. */
async function takeOut(site: string): Promise<BuiltFrom> {
  const file = join(site, BUILT_FROM)
  const list = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new Error(`${site} has no ${BUILT_FROM}. Run npm run web:build and npm run docs:build again.`)
  })
  await rm(file)
  return JSON.parse(list)
}

/** Its text names what Node is made of, too. npm brings it with the binary, wherever the binary here came from. */
async function nodeItself(): Promise<Part> {
  const file = join(ROOT, `node_modules/node-${process.platform}-${process.arch}/LICENSE`)
  return { id: `node@${process.versions.node}`, licence: 'MIT', text: (await readFile(file, 'utf8')).trim() }
}

/** The packages with all they depend on, by name; of optional ones those that are installed. */
async function packagesFor(names: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const open = names.map((name) => ({ name, from: join(ROOT, 'service/package.json') }))
  for (let next = open.pop(); next; next = open.pop()) {
    const { name, from } = next
    const folder = folderOf(name, from)
    if (folder === undefined || found.has(name)) continue
    found.set(name, folder)
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    const needed = { ...manifest.dependencies, ...manifest.optionalDependencies }
    open.push(...Object.keys(needed).map((each) => ({ name: each, from: join(folder, 'package.json') })))
  }
  return found
}

function folderOf(name: string, from: string): string | undefined {
  for (const path of createRequire(from).resolve.paths(name) ?? []) {
    try {
      return dirname(createRequire(from).resolve(join(path, name, 'package.json')))
    } catch {
      // Not in this one.
    }
  }
  return undefined
}
