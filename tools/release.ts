import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { sbomOf } from '../deploy/image/sbom.ts'
import { idOf, lockedPath, readLock, withDependencies } from '../packaging/locked-packages.ts'
import { buildPackage, packInto } from '../packaging/pack.ts'
import { packContext } from './release/context.ts'
import { requireRepository } from './release/repository.ts'
import {
  describeRelease,
  missingUpgrade,
  type Release,
  readChangeset,
  readHead,
} from './release/upgrade-notes.ts'
import {
  CHART,
  DOCKERFILE,
  manifest,
  oneVersion,
  VERSION_IN_CHART,
  VERSION_IN_DOCKERFILE,
  versionsIn,
  workspaces,
} from './release/versions.ts'

/**
 * Makes a release of what .changeset describes: one version for everything, its section in CHANGELOG.md, and in `.data/release/<version>` the
 * packages, the context of the image, the chart, the list of packages (SBOM), the release notes and checksums. Publishes nothing; the last lines say how.
 * `--dry-run` works on a copy of the tree. `--pack` packs the version that was made before, once it is committed. `--next` says whether that
 * is what comes next ("publish") or a new version ("propose").
 */
const PACKAGES = ['sdk', 'cli', 'emulator'] as const
const ROOT = join(import.meta.dirname, '..')

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean' },
    /** What --dry-run starts in its copy. */
    rehearsal: { type: 'boolean' },
    pack: { type: 'boolean' },
    next: { type: 'boolean' },
    out: { type: 'string', default: join(ROOT, '.data/release') },
  },
})
const out = resolve(values.out)
try {
  if (values.next) process.stdout.write(`${(await hasOpenChanges()) ? 'propose' : 'publish'}\n`)
  else if (values['dry-run']) await releaseCopy(out)
  else {
    if (!values.rehearsal) requireRepository(await manifest(ROOT, '.'))
    await pack(out, values.pack ? await madeVersion() : await raiseVersion())
  }
} catch (error) {
  process.stderr.write(`release: ${(error as Error).message}\n`)
  process.exitCode = 1
}

async function raiseVersion(): Promise<string> {
  oneVersion(await versionsIn(ROOT))
  if (!(await hasOpenChanges())) throw new Error('.changeset describes no change. Run "npx changeset" first.')
  // The final version's notes are those of all its candidates.
  const changesets = [
    ...(await readChangesets()),
    ...((await preMode()) === 'exit' ? await readChangesets('pre') : []),
  ]
  const releases = await readReleases()
  const former = releases.at(-1)
  const heads = await readHeads()
  const added = heads.slice(former?.schema ?? 0)
  const missing = former && missingUpgrade(changesets, added)
  if (missing !== undefined) throw new Error(missing)

  await run('npx', ['changeset', 'version'])
  const version = await setVersion()
  await edit('CHANGELOG.md', (text) =>
    text.replace(
      '## Unreleased\n',
      `## Unreleased\n\n## ${version}\n\n${describeRelease(version, former, changesets, added)}\n`,
    ),
  )
  await edit(
    'packaging/releases.json',
    () => `${JSON.stringify([...releases, { version, schema: heads.length }], null, 2)}\n`,
  )
  return oneVersion(await versionsIn(ROOT))
}

/** Throws when the tree is not exactly that of a release. */
async function madeVersion(): Promise<string> {
  const version = oneVersion(await versionsIn(ROOT))
  if (await hasOpenChanges())
    throw new Error(
      `.changeset has changes that are not in version ${version}. Run "npm run release" and commit what it changes first.`,
    )
  if ((await readReleases()).at(-1)?.version !== version)
    throw new Error(
      `packaging/releases.json does not end with ${version}: it was not made by "npm run release".`,
    )
  return version
}

async function pack(out: string, version: string): Promise<void> {
  const folder = join(out, version)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const files = [
    ...(await packPackages(folder)),
    await packContext(ROOT, folder, version),
    ...(await packChart(folder, version)),
    await listPackages(folder, version),
    await writeNotes(folder, version),
  ]
  await writeFile(
    join(folder, 'SHA256SUMS'),
    (await Promise.all(files.map((file) => checksum(folder, file)))).join(''),
  )
  process.stdout.write(
    [
      `${version} is in ${folder}: ${files.join(', ')}`,
      'To publish it, commit the changes, and in that folder:',
      ...files
        .filter((file) => PACKAGES.some((name) => file.startsWith(`shopwire-${name}-`)))
        .map((file) => `  npm publish ${file} --tag ${version.includes('-') ? 'next' : 'latest'}`),
      `  docker build -f ${DOCKERFILE} -t shopwire:${version} - < shopwire-image-${version}.tar.gz`,
      '',
    ].join('\n'),
  )
}

/** Everything that git has or would take, with the packages that are installed here. */
async function releaseCopy(out: string): Promise<void> {
  const copy = join(ROOT, '.data/release-copy')
  await rm(copy, { recursive: true, force: true })
  const listed = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'])
  for (const path of listed.split('\0').filter((one) => one !== ''))
    await cp(join(ROOT, path), join(copy, path), { recursive: true }).catch(
      (error: NodeJS.ErrnoException) => {
        // Listed by git and deleted here.
        if (error.code !== 'ENOENT') throw error
      },
    )
  const modules = join(copy, 'node_modules')
  await mkdir(join(modules, '@shopwire'), { recursive: true })
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== '@shopwire') await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  for (const folder of await workspaces(copy)) {
    const { name } = await manifest(copy, folder)
    await symlink(join(copy, folder), join(copy, 'node_modules', name))
    const own = join(ROOT, folder, 'node_modules')
    if (await readdir(own).catch(() => undefined)) await symlink(own, join(copy, folder, 'node_modules'))
  }
  process.stdout.write(await run(process.execPath, ['tools/release.ts', '--rehearsal', '--out', out], copy))
  await rm(copy, { recursive: true, force: true })
}

/** Writes the version that changesets chose for the workspaces wherever else it stands. Candidates are counted from 1, not from 0 as by changesets. */
async function setVersion(): Promise<string> {
  const { version: chosen } = await manifest(ROOT, 'service')
  const version = chosen.replace(/(-[a-z]+\.)0$/, '$11')
  for (const folder of await workspaces(ROOT))
    await edit(join(folder, 'package.json'), (text) => text.replaceAll(`"${chosen}"`, `"${version}"`))
  await edit('package.json', (text) => text.replace(/"version": "[^"]*"/, `"version": "${version}"`))
  await edit(DOCKERFILE, (text) => text.replace(VERSION_IN_DOCKERFILE, `ARG VERSION=${version}`))
  await edit(CHART, (text) =>
    text.replace(VERSION_IN_CHART, (_, field) =>
      field === 'version' ? `version: ${version}` : `appVersion: "${version}"`,
    ),
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  // Versions and references of our own packages only.
  await edit('package-lock.json', (text) => {
    const lock = JSON.parse(text)
    lock.version = version
    for (const [path, entry] of Object.entries<Record<string, unknown>>(lock.packages)) {
      if (path.includes('node_modules')) continue
      entry.version = version
      for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
        const names = (entry[kind] ?? {}) as Record<string, string>
        for (const name of Object.keys(names)) if (name.startsWith('@shopwire/')) names[name] = version
      }
    }
    return `${JSON.stringify(lock, null, 2)}\n`
  })
  return version
}

async function packPackages(folder: string): Promise<string[]> {
  const files: string[] = []
  for (const name of PACKAGES) {
    await buildPackage(name)
    files.push(relative(folder, (await packInto(folder, name)).path))
  }
  return files
}

/** As `helm package` does: the folder of the chart, compressed. */
async function packChart(folder: string, version: string): Promise<string[]> {
  const charts = join(ROOT, 'deploy/helm')
  if ((await readdir(join(charts, 'shopwire')).catch(() => undefined)) === undefined) return []
  const name = `shopwire-chart-${version}.tgz`
  await run('tar', ['-czf', join(folder, name), 'shopwire'], charts)
  return [name]
}

/** Everything that is installed or bundled with the programs and packages of this version; the image has a list of exactly what is in it. */
async function listPackages(folder: string, version: string): Promise<string> {
  const name = `shopwire-sbom-${version}.cdx.json`
  const locked = readLock()
  const direct = ['contract', 'service', 'web', ...PACKAGES].flatMap((workspace) =>
    Object.keys({ ...locked[workspace]?.dependencies, ...locked[workspace]?.optionalDependencies })
      .filter((one) => !one.startsWith('@shopwire/'))
      .flatMap((one) => lockedPath(locked, workspace, one) ?? [])
      // Of what exists for each platform, that of this one.
      .filter((path) => existsSync(join(ROOT, path))),
  )
  const ids = direct.map((path) => idOf(path, locked[path] ?? {}))
  const sbom = await sbomOf(ROOT, { packages: withDependencies(locked, ids), version })
  const component = { 'bom-ref': `shopwire@${version}`, type: 'application', name: 'shopwire', version }
  await writeFile(
    join(folder, name),
    `${JSON.stringify({ ...sbom, metadata: { ...sbom.metadata, component } }, null, 1)}\n`,
  )
  return name
}

async function writeNotes(folder: string, version: string): Promise<string> {
  const name = `shopwire-notes-${version}.md`
  const [, section] = (await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8')).split(`\n## ${version}\n`)
  await writeFile(join(folder, name), `${section?.split('\n## ')[0]?.trim()}\n`)
  return name
}

async function hasOpenChanges(): Promise<boolean> {
  return (await preMode()) === 'exit' || (await readChangesets()).length > 0
}

/** "pre" while candidates are made, "exit" when the final version is next ("npx changeset pre exit"). */
async function preMode(): Promise<string | undefined> {
  const text = await readFile(join(ROOT, '.changeset/pre.json'), 'utf8').catch(() => '{}')
  return (JSON.parse(text) as { mode?: string }).mode
}

/** Those of a candidate are moved to the folder "pre" when it is made. */
async function readChangesets(inside = '') {
  const folder = join(ROOT, '.changeset', inside)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md') && name !== 'README.md')
  return Promise.all(
    names.map(async (name) => readChangeset(name, await readFile(join(folder, name), 'utf8'))),
  )
}

async function readReleases(): Promise<Release[]> {
  return JSON.parse(await readFile(join(ROOT, 'packaging/releases.json'), 'utf8'))
}

async function readHeads() {
  const folder = join(ROOT, 'service/schema/tables')
  const names = (await readdir(folder)).sort()
  return Promise.all(names.map(async (name) => readHead(name, await readFile(join(folder, name), 'utf8'))))
}

async function edit(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(join(ROOT, path), change(await readFile(join(ROOT, path), 'utf8')))
}

async function checksum(folder: string, file: string): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(folder, file)))
  return `${hash.digest('hex')}  ${file}\n`
}

async function run(file: string, args: readonly string[], cwd = ROOT): Promise<string> {
  const ended = promisify(execFile)(file, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 })
  const { stdout } = await ended.catch((error: Error & { stdout?: string; stderr?: string }) => {
    const said = (error.stderr ?? '').replace(/^release: /, '').trim()
    throw new Error(said === '' ? error.message : said)
  })
  return stdout
}
