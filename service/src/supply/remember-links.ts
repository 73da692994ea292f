import type { Tx } from '../platform/db.ts'
import { insertFingerprints } from './queries.ts'

const BATCH = 1_000

/** Puts links on record for ever; answers, for each, whether this store holds it for the first time. */
export async function rememberLinks(tx: Tx, hashes: readonly Buffer[], nowMs: number): Promise<boolean[]> {
  // Sorted over all batches: whoever brings the same links at the same time waits for us instead of in a circle with us.
  const sorted = hashes.toSorted(Buffer.compare)
  const unseen = new Set<string>()
  for (let from = 0; from < sorted.length; from += BATCH) {
    const inserted = await insertFingerprints(tx, sorted.slice(from, from + BATCH), new Date(nowMs))
    for (const { hash } of inserted) unseen.add(hash.toString('hex'))
  }
  // Deleting as we go makes the second of two equal links a known one.
  return hashes.map((hash) => unseen.delete(hash.toString('hex')))
}
