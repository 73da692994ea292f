import { type Queryable, sql } from '../platform/db.ts'
import type { Admission } from './admission.ts'

export type AdmissionKind = 'postgres' | 'redis' | 'redis-cluster'

/** An API process says so when it starts and again and again; who was silent for this long runs no more. */
export const ADMISSION_SEEN_EVERY_MS = 60_000
const SILENT_S_MAX = 300

export const noteAdmissionInUse = (db: Queryable, kind: AdmissionKind) =>
  db.run(sql`
    insert into admission_in_use (kind, seen_at)
    values (${kind}, clock_timestamp())
        on conflict (kind) do update
       set seen_at = excluded.seen_at`)

/** The same memory, which does not claim that everybody has heard when API processes ask another one. */
export function confirmedByAllStores(admission: Admission, db: Queryable, kind: AdmissionKind): Admission {
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

/** Saved, told to one memory, and not to the one that API processes ask. */
export class AdmissionMismatchError extends Error {
  override readonly name = 'AdmissionMismatchError'

  constructor(own: AdmissionKind, others: string) {
    super(
      `This command has SHOPWIRE_ADMISSION=${own}, but API processes keep admission in ${others}. What was changed is saved, but ` +
        'they have not heard of it: run it again with their SHOPWIRE_ADMISSION and SHOPWIRE_REDIS_URLS.',
    )
  }
}
