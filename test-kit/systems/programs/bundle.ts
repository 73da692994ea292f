import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundlePrograms } from '../../../packaging/bundle-programs.ts'
import { keptFolder } from '../kept-folder.ts'
import { OPERATOR_SERVER } from './program.ts'

const SERVICE = new URL('../../../service/', import.meta.url)

/**
 * Bundles the service's programs and returns their folder, for SHOPWIRE_PROGRAMS. It is the same code: only its six hundred
 * modules are one file each, which takes Node a third of the time to load, and Node finds what it compiled last time. A run of
 * the end-to-end tests starts hundreds of programs. Commands in the documentation and `npm run dev` run the sources.
 */
export async function bundleForTests(): Promise<string> {
  const files = await bundlePrograms(
    (source) => JSON.stringify(new URL(source, SERVICE).href),
    [`testing/${OPERATOR_SERVER}.ts`],
  )
  const madeFrom = files.flatMap(({ name, content }) => [name, content])
  return keptFolder('programs', madeFrom, async (folder) => {
    for (const { name, content } of files) await writeFile(join(folder, name), content)
  })
}
