import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DOWNLOADS, PAGES_OUTSIDE_DOCS } from './pages.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** What VitePress reads: the same pages, with links that work inside the portal. */
export const STAGE = join(ROOT, 'docs/.site-source')

export interface Page {
  /** In the repository. */
  readonly source: string
  /** In the portal, with `.md`. */
  readonly path: string
  readonly markdown: string
}

/** Every page of the portal, as it is in the repository. */
export async function readPages(): Promise<Page[]> {
  const names = await readdir(join(ROOT, 'docs'), { recursive: true })
  const own = names
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md') && !/(^|\/)(node_modules|portal|\.[^/]+)\//.test(`${name}`))
    .sort()
    .map((name) => ({ source: `docs/${name}`, path: name.replace(/(^|\/)README\.md$/, '$1index.md') }))
  const outside = Object.entries(PAGES_OUTSIDE_DOCS).map(([source, path]) => ({ source, path }))
  return Promise.all(
    [...own, ...outside].map(async (page) => ({
      ...page,
      markdown: await readFile(join(ROOT, page.source), 'utf8'),
    })),
  )
}

/** Writes the pages for VitePress and the files they link to. */
export async function stage(): Promise<Page[]> {
  const pages = await readPages()
  await rm(STAGE, { recursive: true, force: true })
  for (const page of pages) {
    const text = await forPortal(page, pages)
    await mkdir(dirname(join(STAGE, page.path)), { recursive: true })
    await writeFile(join(STAGE, page.path), text)
  }
  for (const [source, target] of Object.entries(DOWNLOADS)) {
    await mkdir(dirname(join(STAGE, 'public', target)), { recursive: true })
    await cp(join(ROOT, source), join(STAGE, 'public', target))
  }
  return pages
}

/** The Markdown version of a page, with links to the Markdown versions of others. */
export function twinOf(page: Page, pages: readonly Page[]): string {
  const from = posix.dirname(page.path)
  const linked = mapLinks(page, pages).replace(
    /\]\(\/([\w.-]+)\)/g,
    (_, file: string) => `](${relative(from, file)})`,
  )
  return withoutMachinery(linked)
}

async function forPortal(page: Page, pages: readonly Page[]): Promise<string> {
  const linked = mapLinks(page, pages)
    .replace(/<!-- portal: ([\s\S]*?) -->/g, '$1')
    .replace(/\(openapi:\)/g, '(/api/index.html){target="_self"}')
    .replace(/<!-- portal-component: (\w+) -->/g, '<$1 />')
    .replace(/<!-- tabs -->([\s\S]*?)<!-- \/tabs -->/g, (_, blocks: string) => codeGroup(blocks))
  return withoutMachinery(await withDiagrams(page, linked))
}

/** Removes marks for the checker of code blocks and for generators, which no reader needs. */
function withoutMachinery(text: string): string {
  return text.replace(/<!--[\s\S]*?-->[ \t]*\n{0,2}/g, '').replace(/^(```\w+)((?: \w[\w-]*=\S+)+)/gm, '$1')
}

/** A link between files of the repository becomes one between pages; a file that is no page becomes its name. */
function mapLinks(page: Page, pages: readonly Page[]): string {
  const outsideCode = page.markdown.split(/(^```[\s\S]*?^```)/m)
  return outsideCode
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replace(
            /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g,
            (whole, bang: string, text: string, target: string) => {
              if (/^(https?:|mailto:|#|openapi:)/.test(target)) return whole
              const [file = '', hash] = target.split('#')
              const wanted = posix.normalize(posix.join(posix.dirname(page.source), file)).replace(/\/$/, '')
              const found = pages.find(({ source }) => source === wanted || source === `${wanted}/README.md`)
              const from = posix.dirname(page.path)
              if (found) return `${bang}[${text}](${relative(from, found.path)}${hash ? `#${hash}` : ''})`
              const download = DOWNLOADS[wanted]
              if (download) return `${bang}[${text}](${bang ? `/${download}` : relative(from, download)})`
              if (bang) return `![${text}](${relative(from, wanted.replace(/^docs\//, ''))})`
              return text.includes('`') ? text : `${text} (\`${wanted}\`)`
            },
          ),
    )
    .join('')
}

function relative(from: string, to: string): string {
  const path = posix.relative(from, to)
  return path.startsWith('.') ? path : `./${path}`
}

/** Bold names above code blocks are readable anywhere; the portal turns them into tabs. */
function codeGroup(blocks: string): string {
  const tabs = [...blocks.matchAll(/\*\*(.+?)\*\*\s+```(\w+)[^\n]*\n([\s\S]*?)\n```/g)]
  return `::: code-group\n\n${tabs.map(([, name, language, code]) => `\`\`\`${language} [${name}]\n${code}\n\`\`\``).join('\n\n')}\n\n:::`
}

/** Inline, so that a diagram follows the portal's switch for dark and light. The file's own colours apply elsewhere. */
async function withDiagrams(page: Page, text: string): Promise<string> {
  const parts = text.split(/!\[([^\]]*)\]\((\S*diagrams\/[\w-]+\.svg)\)/)
  let out = parts[0] ?? ''
  for (let at = 1; at < parts.length; at += 3) {
    const [, path = '', rest = ''] = parts.slice(at, at + 3)
    const svg = await readFile(join(ROOT, 'docs', dirname(page.path), path), 'utf8')
    const inline = svg.replace(/<style>[\s\S]*?<\/style>/, '').replace(/\s*\n\s*/g, '')
    out += `<figure class="diagram" tabindex="0">${inline}</figure>${rest}`
  }
  return out
}
