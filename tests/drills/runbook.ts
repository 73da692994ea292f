import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGE = join(ROOT, 'docs/runbooks/alerts.md')
const RUN_MS_MAX = 120_000

/** Runs the blocks of the alerts' runbook that are marked `look=<alert>` or `repair=<alert>`, as they are written. */
export async function runBlocks(
  mark: 'look' | 'repair',
  alert: string,
  env: Record<string, string>,
): Promise<string[]> {
  const commands: string[] = []
  const text = await readFile(PAGE, 'utf8')
  for (const [, marks = '', code = ''] of text.matchAll(/^```sh ([^\n]*)\n([\s\S]*?)\n```$/gm)) {
    if (marks !== `${mark}=${alert}`) continue
    await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', code], { env, timeout: RUN_MS_MAX })
    commands.push(code)
  }
  return commands
}
