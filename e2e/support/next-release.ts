import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The service of today with one more migration, in a folder of its own: what an operator installs next. */
export interface NextRelease {
  readonly folder: URL
  remove(): Promise<void>
}

const SERVICE = fileURLToPath(new URL('../../service/', import.meta.url))
/** Inside the repository, so that its packages are found. */
const DATA = fileURLToPath(new URL('../../.data/', import.meta.url))

export async function makeNextRelease(migration: string): Promise<NextRelease> {
  await mkdir(DATA, { recursive: true })
  const path = await mkdtemp(`${DATA}next-release-`)
  for (const part of ['bin', 'src', 'migrations', 'functions', 'package.json']) {
    await cp(`${SERVICE}${part}`, `${path}/${part}`, { recursive: true })
  }
  const number = String((await readdir(`${path}/migrations`)).length + 1).padStart(4, '0')
  await writeFile(`${path}/migrations/${number}_of_the_next_release.sql`, migration)
  return {
    folder: pathToFileURL(`${path}/`),
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
