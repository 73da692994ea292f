import { type FileHandle, stat } from 'node:fs/promises'

/** A folder that processes of several users may write, such as a worker and a command run as root, but whose files one of them has to read. */
export interface OwnedFolder {
  readonly dir: string
  /** Has its owner: the first file that is made in it. Before that it is the folder's. */
  readonly mark: string
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** Root gives a new file to the owner, others of the owner's group to the group; nobody else may make one. */
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

/** Where a file may not be read or written: an error that says whose it is, and what to do. Every other error as it is. */
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

/** Undefined: whoever comes first. */
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
