import { appendFile, readFile } from 'node:fs/promises'

const KEPT_MAX = 300

/** A list in a file, one JSON object a line, which the next start goes on with. */
export async function openKeptLines<Row>(file: string) {
  const text = await readFile(file, 'utf8').catch(() => '')
  const rows = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
  return {
    async add(row: Row): Promise<void> {
      rows.push(row)
      await appendFile(file, `${JSON.stringify(row)}\n`, { mode: 0o600 })
    },
    newestFirst: (): readonly Row[] => rows.slice(-KEPT_MAX).reverse(),
  }
}
