import { type Queryable, sql } from '../platform/database/db.ts'
import type { Admission } from './admission.ts'

export type AdmissionKind = 'postgres' | 'redis' | 'redis-cluster'

/** An API process records its kind at start and then at this interval; after SILENT_S_MAX without a record it counts as stopped. */
export const ADMISSION_SEEN_EVERY_MS = 60_000
const SILENT_S_MAX = 300

export const noteAdmissionInUse = (db: Queryable, kind: AdmissionKind) =>
  db.run(sql`
    insert into admission_in_use (kind, seen_at)
    values (${kind}, clock_timestamp())
        on conflict (kind) do update
       set seen_at = excluded.seen_at`)

/** The same admission, except that `announce` fails when running API processes use another kind of store. */
export function withMismatchCheck(admission: Admission, db: Queryable, kind: AdmissionKind): Admission {
  return {
    ...admission,
    async announce(account_id, access_version) {
      await admission.announce(account_id, access_version)
      const others = await db.many<{ kind: AdmissionKind }>(sql`
        select kind
          from admission_in_use
         where kind <> ${kind}
           and seen_at > clock_timestamp() - ${SILENT_S_MAX}::integer * interval '1 s'
         order by kind`)
      if (others.length > 0)
        throw new AdmissionMismatchError(kind, others.map((other) => other.kind).join(', '))
    },
  }
}

/** The change is saved and announced to one store, but API processes use another one. */
export class AdmissionMismatchError extends Error {
  override readonly name = 'AdmissionMismatchError'

  constructor(own: AdmissionKind, others: string) {
    super(
      `This command has SHOPWIRE_ADMISSION=${own}, but API processes use ${others}. The change is saved, but those ` +
        'processes do not apply it yet: run the command again with their SHOPWIRE_ADMISSION and SHOPWIRE_REDIS_URLS.',
    )
  }
}
