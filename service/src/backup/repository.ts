import { BackupError } from './backup-error.ts'
import { adviceFor, type PgBackRest, STANZA } from './pgbackrest.ts'
import { findGaps, type Segment, segmentOf } from './wal.ts'

export interface Backup {
  readonly label: string
  readonly type: 'full' | 'diff' | 'incr'
  readonly finishedAt: Date
  /** Of the database. */
  readonly bytes: number
  /** The size of what this backup added to the repository. */
  readonly repositoryBytes: number
  readonly walStart: Segment
  readonly walStop: Segment
}

/** What can be restored. */
export interface Repository {
  readonly systemIdentifier: string
  /** Oldest first; never empty. */
  readonly backups: readonly [Backup, ...Backup[]]
  readonly lastWal: (Segment & { archivedAt: Date }) | undefined
  /** Missing WAL files between existing ones: nothing after the first can be reached from a backup before it. */
  readonly gaps: readonly string[]
  /** The first and the last second that can be restored. */
  readonly window: { readonly from: Date; readonly to: Date }
}

interface Info {
  readonly status: { readonly code: number; readonly message: string }
  readonly repo?: readonly { readonly status: { readonly code: number; readonly message: string } }[]
  readonly db: readonly { readonly id: number; readonly 'system-id': string; readonly version: string }[]
  readonly backup: readonly {
    readonly label: string
    readonly type: Backup['type']
    readonly error: boolean | null
    readonly database: { readonly id: number }
    readonly timestamp: { readonly stop: number }
    readonly info: { readonly size: number; readonly repository: { readonly delta: number } }
    readonly archive: { readonly start: string; readonly stop: string }
  }[]
}
type Listing = Readonly<Record<string, { type: string; time?: number }>>

const OK = 0
const NO_BACKUP = 2

export async function readRepository(pgbackrest: PgBackRest): Promise<Repository> {
  const text = (await pgbackrest.run('--output=json', 'info'))
    // With a wrong passphrase it quotes the decrypted bytes one by one.
    .replaceAll(/\p{Cc}/gu, ' ')
    // Larger than a JavaScript number can be.
    .replaceAll(/"system-id":(\d+)/g, '"system-id":"$1"')
  const info = (JSON.parse(text) as Info[])[0]
  const db = info?.db.at(-1)
  if (info === undefined || db === undefined || ![OK, NO_BACKUP].includes(info.status.code)) {
    const why = info?.repo?.find(({ status }) => status.code !== OK)?.status.message ?? info?.status.message
    throw new BackupError(
      `The repository cannot be read: ${firstLine(why ?? 'it is empty')}`,
      adviceFor(why ?? 'stanza-create', pgbackrest.configPath),
    )
  }
  const backups = info.backup
    .filter(({ database }) => database.id === db.id)
    .map((each) => ({
      label: each.label,
      type: each.type,
      finishedAt: new Date(each.timestamp.stop * 1000),
      bytes: each.info.size,
      repositoryBytes: each.info.repository.delta,
      walStart: segmentOf(each.archive.start),
      walStop: segmentOf(each.archive.stop),
    }))
  const [oldest, ...later] = backups
  if (oldest === undefined)
    throw new BackupError('The repository has no backup.', 'Take the first one: "shopwire backup full".')
  const listing = JSON.parse(
    await pgbackrest.run('--recurse', '--output=json', 'repo-ls', `archive/${STANZA}/${db.version}-${db.id}`),
  ) as Listing
  const segments = Object.entries(listing).flatMap(([path, { time }]) => {
    const name = /([0-9A-F]{24})-[0-9a-f]{40}(\.\w+)?$/.exec(path)?.[1]
    return name === undefined ? [] : [{ ...segmentOf(name), archivedAt: new Date((time ?? 0) * 1000) }]
  })
  const lastWal = segments.toSorted((a, b) => a.timeline - b.timeline || a.number - b.number).at(-1)
  return {
    systemIdentifier: db['system-id'],
    backups: [oldest, ...later],
    lastWal,
    gaps: findGaps(segments, backups),
    // The second in which a backup ends may be before its end.
    window: {
      from: new Date(oldest.finishedAt.getTime() + 1000),
      to: lastWal?.archivedAt ?? oldest.finishedAt,
    },
  }
}

/** With a wrong passphrase the message quotes what was decrypted, which is noise. */
function firstLine(text: string): string {
  const line = text.split('\n')[0] ?? ''
  return /outside of section|CryptoError/.test(text) ? `${line} it cannot be decrypted.` : line
}
