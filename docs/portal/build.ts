import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'
import { writeLicenceList } from '../../packaging/licences.ts'
import { readLock, withDependencies } from '../../packaging/locked-packages.ts'
import { BUILT_FROM, type BuiltFrom, packagesOf } from '../../packaging/packages-of.ts'
import { SECTIONS } from './pages.ts'
import { type Page, ROOT, STAGE, stage, twinOf } from './stage.ts'

/**
 * The docs portal: static files that work under /docs/, with no other host and no inline script. Staged pages → VitePress →
 * Markdown twins, llms.txt, the API reference.
 */
const HERE = fileURLToPath(new URL('.', import.meta.url))
const SITE = join(ROOT, 'docs/.site')
const SUMMARY =
  "A self-hosted store that sells digital goods to other companies' servers over a signed HTTP API: catalogue, quotes, orders paid from a prepaid balance, gift links, signed webhooks."

const pages = await stage()
await cp(join(HERE, 'icon.svg'), join(STAGE, 'public/icon.svg'))
await rm(SITE, { recursive: true, force: true })
await buildWithVitePress()
await moveInlineScripts()
await writeTwins(pages)
await writeApiReference()
await writeBuiltFrom()
process.stdout.write(`docs/.site: ${pages.length} pages\n`)

/** VitePress requires the folder name .vitepress, so a copy gets it. */
async function buildWithVitePress() {
  const root = join(ROOT, 'docs/.site-root')
  await rm(root, { recursive: true, force: true })
  await mkdir(root, { recursive: true })
  await cp(HERE, join(root, '.vitepress'), {
    recursive: true,
    filter: (path) => !path.endsWith('tsconfig.json'),
  })
  await build(root)
  await rm(root, { recursive: true })
}

/** Two scripts set the colour scheme and the name of the search key before the first paint. As files they need no exception in a CSP. */
async function moveInlineScripts() {
  const names = (await readdir(SITE, { recursive: true })).filter((name) => name.endsWith('.html'))
  const written = new Set<string>()
  for (const name of names) {
    const html = await readFile(join(SITE, name), 'utf8')
    const scripts: string[] = []
    const moved = html.replace(/<script(?: id="[\w-]+")?>([\s\S]*?)<\/script>/g, (_, code: string) => {
      const file = `assets/inline-${createHash('sha256').update(code).digest('hex').slice(0, 12)}.js`
      if (!written.has(file)) scripts.push(file, code)
      return `<script src="/docs/${file}"></script>`
    })
    for (let at = 0; at < scripts.length; at += 2) {
      written.add(scripts[at] ?? '')
      await writeFile(join(SITE, scripts[at] ?? ''), scripts[at + 1] ?? '')
    }
    await writeFile(join(SITE, name), moved)
  }
}

async function writeTwins(all: readonly Page[]) {
  for (const page of all) {
    await mkdir(dirname(join(SITE, page.path)), { recursive: true })
    await writeFile(join(SITE, page.path), twinOf(page, all))
  }
  // The portal has them inline; the Markdown versions link to the files.
  await cp(join(ROOT, 'docs/diagrams'), join(SITE, 'diagrams'), { recursive: true })
  const byPath = new Map(all.map((page) => [page.path, page]))
  const listed = SECTIONS.map(({ text, items }) => ({
    text,
    items: items.map((item) => {
      const page = byPath.get(`${item.link.replace(/\/$/, '/index')}.md`)
      if (!page) throw new Error(`the sidebar names ${item.link}, which is not a page`)
      return { ...item, page }
    }),
  }))
  const index = [
    `# Shopwire\n\n> ${SUMMARY}\n\nEvery page is also available as Markdown: put \`.md\` after its address. All of them in one file: [llms-full.txt](/docs/llms-full.txt).`,
    ...listed.map(
      ({ text, items }) =>
        `## ${text}\n\n${items.map((item) => `- [${item.text}](/docs/${item.page.path}): ${firstWords(item.page)}`).join('\n')}`,
    ),
  ]
  await writeFile(join(SITE, 'llms.txt'), `${index.join('\n\n')}\n`)
  const inOrder = listed.flatMap(({ items }) => items.map(({ page }) => page))
  const full = inOrder.map((page) => `<!-- /docs/${page.path} -->\n${twinOf(page, all).trim()}`)
  await writeFile(join(SITE, 'llms-full.txt'), `${full.join('\n\n')}\n`)
}

/** The first sentence of the first paragraph that is prose. */
function firstWords({ markdown }: Page): string {
  const prose = markdown.split(/\n\s*\n/).find((part) => /^(?!```)[A-Z0-9`"'[]/.test(part.trim())) ?? ''
  return (/^[\s\S]*?[.:](?=\s|$)/.exec(prose)?.[0] ?? prose)
    .replace(/\s+/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/:$/, '.')
}

/** Scalar, self-hosted, with our own document. The document is copied when it exists. */
async function writeApiReference() {
  const scalar = dirname(fileURLToPath(import.meta.resolve('@scalar/api-reference')))
  await cp(join(HERE, 'api'), join(SITE, 'api'), { recursive: true })
  await cp(join(scalar, 'browser/standalone.js'), join(SITE, 'api/scalar.js'))
  await cp(join(ROOT, 'docs/openapi.json'), join(SITE, 'openapi.json')).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      process.stdout.write('docs/openapi.json does not exist: the API page will load it from the server\n')
    },
  )
}

/** For the list of packages in the image; that of the licences goes wherever the site goes. */
async function writeBuiltFrom() {
  const list = join(SITE, '.modules.json')
  const modules: string[] = JSON.parse(await readFile(list, 'utf8'))
  await rm(list)
  const scalar = packagesOf([fileURLToPath(import.meta.resolve('@scalar/api-reference'))])
  // Of Scalar a bundle of its own is copied, in which everything is that it depends on.
  const packages = [...packagesOf(modules), ...withDependencies(readLock(), scalar)]
  const builtFrom: BuiltFrom = { packages: [...new Set(packages)].sort() }
  await writeLicenceList(SITE, builtFrom.packages)
  await writeFile(join(SITE, BUILT_FROM), JSON.stringify(builtFrom))
}
