import { type FileHandle, stat } from 'node:fs/promises'

/**
 * A folder that processes of several users may write to, such as a worker and a command run as root, but whose files the worker
 * must be able to read.
 */
export interface OwnedFolder {
  readonly dir: string
  /** The first file that is made in it, whose owner is the owner of all. Until then the folder's owner is. */
  readonly mark: string
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** Root gives a new file to the owner, members of the owner's group give it to the group; anyone else may not make one. */
export async function giveToOwner(file: FileHandle, folder: OwnedFolder): Promise<void> {
  const self = process.geteuid?.()
  const owner = await ownerOf(folder)
  if (self === undefined || owner === undefined || self === owner.uid) return
  try {
    await file.chown(self === 0 ? owner.uid : self, owner.gid)
  } catch (cause) {
    throw new Error(describeOther(folder, owner, self), { cause })
  }
}

/** Turns "permission denied" into an error that says who owns the file and what to do. Returns every other error unchanged. */
export async function explainRefused(error: unknown, folder: OwnedFolder): Promise<unknown> {
  const { code, path } = error as NodeJS.ErrnoException
  const [self, group] = [process.geteuid?.(), process.getegid?.()]
  if ((code !== 'EACCES' && code !== 'EPERM') || path === undefined || self === undefined) return error
  const owner = await ownerOf(folder).catch(() => undefined)
  if (owner !== undefined && owner.uid !== self)
    return new Error(describeOther(folder, owner, self), { cause: error })
  const whose = await stat(path).then(
    ({ uid, gid }) => `belongs to user ${uid} and group ${gid}`,
    () => 'cannot be reached',
  )
  const todo = `chown -R ${self}:${group} ${folder.dir}`
  return new Error(`${path} ${whose}, and this process runs as user ${self}. As root: ${todo}`, {
    cause: error,
  })
}

/** Undefined: the first user to write becomes the owner. */
async function ownerOf({ dir, mark }: OwnedFolder): Promise<Owner | undefined> {
  const found = await stat(mark).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (found) return found
  const folder = await stat(dir)
  return (folder.mode & WRITTEN_BY_ALL) === 0 ? folder : undefined
}

const WRITTEN_BY_ALL = 0o002

const describeOther = ({ dir }: OwnedFolder, { uid, gid }: Owner, self: number) =>
  `${dir} belongs to user ${uid} and group ${gid}, and this process runs as user ${self}: run it as that user, or give the folder ` +
  `to it. As root: chown -R ${self} ${dir}`
