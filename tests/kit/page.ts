import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './root-folders.ts'

/** Replaces what an earlier run wrote between the marks of that name on the page, which is the install page unless another one is named. */
export async function writeBlock(
  name: string,
  lines: readonly string[],
  page = 'docs/self-hosting/install.md',
): Promise<void> {
  const path = join(ROOT, page)
  const text = await readFile(path, 'utf8')
  const [start, end] = [`<!-- made by npm run kit: ${name} -->`, `<!-- end: ${name} -->`]
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${path} has no place for "${name}".`)
  await writeFile(
    path,
    `${text.slice(0, from + start.length)}\n\n${lines.join('\n').trim()}\n\n${text.slice(to)}`,
  )
}
