import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The service of today with more migrations and changed functions, in a folder of its own: what an operator installs next. */
export interface NextRelease {
  readonly folder: URL
  /** Of its schema. */
  readonly version: number
  remove(): Promise<void>
}

export interface Changes {
  /** Texts of migrations by what they do, given the version of today. */
  migrations(today: number): Readonly<Record<string, string>>
  /** Changes of function files by their path. */
  readonly functions?: Readonly<Record<string, (text: string) => string>>
}

const NEXT_VERSION = '99.0.0'
const SERVICE = fileURLToPath(new URL('../../service/', import.meta.url))
/** Inside the repository, so that its packages are found. */
const DATA = fileURLToPath(new URL('../../.data/', import.meta.url))

export async function makeNextRelease({ migrations, functions = {} }: Changes): Promise<NextRelease> {
  await mkdir(DATA, { recursive: true })
  const path = await mkdtemp(`${DATA}next-release-`)
  for (const part of ['bin', 'src', 'schema', 'package.json']) {
    await cp(`${SERVICE}${part}`, `${path}/${part}`, { recursive: true })
  }
  const manifest = await readFile(`${path}/package.json`, 'utf8')
  await writeFile(`${path}/package.json`, manifest.replace(/"version": ".*"/, `"version": "${NEXT_VERSION}"`))
  let version = (await readdir(`${path}/schema/tables`)).length
  for (const [what, text] of Object.entries(migrations(version))) {
    version += 1
    await writeFile(`${path}/schema/tables/${String(version).padStart(4, '0')}_${what}.sql`, text)
  }
  for (const [name, change] of Object.entries(functions)) {
    const file = `${path}/schema/functions/${name}`
    await writeFile(file, change(await readFile(file, 'utf8')))
  }
  return {
    folder: pathToFileURL(`${path}/`),
    version,
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
