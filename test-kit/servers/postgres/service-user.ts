import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, resolve } from 'node:path'

export interface ServiceUser {
  name: string
  uid: number
  gid: number
}

/** PostgreSQL refuses to run as root, so root starts it as an unprivileged user; other users run it as themselves. */
export function findServiceUser(): ServiceUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const found = lookUp('postgres') ?? lookUp('nobody')
  if (!found)
    throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody here')
  return found
}

/** Root's temporary folder may be inaccessible to others (a private TMPDIR); then /tmp is used. */
export function temporaryParent(user: ServiceUser | undefined): string {
  return closedFolderOn(tmpdir(), user) ? '/tmp' : tmpdir()
}

/** The first folder on the way to `path` that the user may not enter. */
export function closedFolderOn(path: string, user: ServiceUser | undefined): string | undefined {
  if (!user) return undefined
  const folder = resolve(path)
  const above = dirname(folder)
  return (
    (above === folder ? undefined : closedFolderOn(above, user)) ??
    (mayEnter(folder, user) ? undefined : folder)
  )
}

function mayEnter(folder: string, user: ServiceUser): boolean {
  const { mode, uid, gid } = statSync(folder)
  if (uid === user.uid) return (mode & 0o100) !== 0
  if (gid === user.gid) return (mode & 0o010) !== 0
  return (mode & 0o001) !== 0
}

function lookUp(name: string): ServiceUser | undefined {
  const id = (flag: string) =>
    Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  try {
    return { name, uid: id('-u'), gid: id('-g') }
  } catch {
    return undefined
  }
}
