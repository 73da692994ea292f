import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { BenchSystem } from './bench-system.ts'

const LOAD_POOLS = fileURLToPath(new URL('../../service/testing/bench-load-pools.ts', import.meta.url))

/** So many links for each of the items. */
export async function loadPools(
  { folder, settingsOf }: BenchSystem,
  name: string,
  items: readonly string[],
  links: number,
): Promise<void> {
  writeFileSync(`${folder}/${name}`, items.join('\n'))
  await promisify(execFile)(process.execPath, [LOAD_POOLS, `${folder}/${name}`, String(links)], {
    env: { PATH: process.env.PATH, ...settingsOf('operator') },
  })
}
