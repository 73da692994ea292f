import type { Tx } from '../platform/database/db.ts'
import { insertFingerprints, type LinkUse } from './queries.ts'

const BATCH = 1_000

/** Records links permanently; returns for each whether this store holds it for the first time. */
export async function recordLinks(
  tx: Tx,
  hashes: readonly Buffer[],
  nowMs: number,
  use: LinkUse = {},
): Promise<boolean[]> {
  // Sorted over all batches, so that transactions that bring the same links wait for each other instead of deadlocking.
  const sorted = hashes.toSorted(Buffer.compare)
  const unseen = new Set<string>()
  for (let from = 0; from < sorted.length; from += BATCH) {
    const inserted = await insertFingerprints(tx, sorted.slice(from, from + BATCH), new Date(nowMs), use)
    for (const { hash } of inserted) unseen.add(hash.toString('hex'))
  }
  // Deleting from the set makes the second of two equal links a known one.
  return hashes.map((hash) => unseen.delete(hash.toString('hex')))
}
