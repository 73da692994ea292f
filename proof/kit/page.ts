import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './root-folders.ts'

const PAGE = join(ROOT, 'docs/self-hosting/install.md')

/** Replaces what an earlier run wrote between the marks of that name on the install page. */
export async function writeBlock(name: string, lines: readonly string[]): Promise<void> {
  const page = await readFile(PAGE, 'utf8')
  const [start, end] = [`<!-- made by npm run kit: ${name} -->`, `<!-- end: ${name} -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${PAGE} has no place for "${name}".`)
  await writeFile(
    PAGE,
    `${page.slice(0, from + start.length)}\n\n${lines.join('\n').trim()}\n\n${page.slice(to)}`,
  )
}
