import { openLineFiles } from '../../../src/platform/batching/line-files.ts'

/** A process that appends until it is killed, and reports each line that is on the disk. */
const dir = process.argv[2] as string
const files = openLineFiles({ folder: { dir, mark: dir }, kind: 'sold', nowMs: Date.now })
for (let n = 0; ; n += 1) {
  await Promise.all([files.append([`a ${n}`]), files.append([`b ${n}`])])
  process.send?.(`a ${n}`)
  process.send?.(`b ${n}`)
}
