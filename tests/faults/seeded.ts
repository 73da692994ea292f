import { createHash } from 'node:crypto'

/** Numbers from 0 to 1, the same ones for the same seed. */
export function seeded(seed: string): () => number {
  let n = 0
  return () => {
    n += 1
    return createHash('sha256').update(`${seed} ${n}`).digest().readUInt32BE() / 2 ** 32
  }
}
