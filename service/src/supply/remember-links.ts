import type { Tx } from '../platform/db.ts'
import { insertFingerprints } from './queries.ts'

/** Puts links on record for ever; answers, for each, whether this store holds it for the first time. */
export async function rememberLinks(tx: Tx, hashes: readonly Buffer[], nowMs: number): Promise<boolean[]> {
  const inserted = await insertFingerprints(tx, hashes, new Date(nowMs))
  const unseen = new Set(inserted.map(({ hash }) => hash.toString('hex')))
  // Deleting as we go makes the second of two equal links a known one.
  return hashes.map((hash) => unseen.delete(hash.toString('hex')))
}
