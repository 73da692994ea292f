import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { SECTIONS } from './pages.ts'

const BASE = '/docs/'
/** Read and removed by build.ts. */
const MODULES = '.modules.json'

/** Not set until it is known where this is hosted. */
const { repository }: { repository?: { url: string } } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)

const listed = new Set(
  SECTIONS.flatMap(({ items }) => items.map(({ link }) => `${link.replace(/\/$/, '/index')}.md`)),
)

/** See docs/decisions/0002-generated-from-the-contract.md. Built by docs/portal/build.ts from the pages it has staged. */
export default defineConfig({
  base: BASE,
  srcDir: '../.site-source',
  outDir: '../.site',
  cacheDir: '../.site-cache',
  lang: 'en',
  title: 'Shopwire',
  description:
    "A self-hosted store that sells digital goods to other companies' servers over a signed HTTP API.",
  cleanUrls: true,
  lastUpdated: false,
  markdown: { anchor: { slugify: slugOf } },
  transformPageData({ relativePath, frontmatter }) {
    // A page that is not in the sidebar has no previous or next page.
    if (!listed.has(relativePath)) Object.assign(frontmatter, { prev: false, next: false })
  },
  head: [['link', { rel: 'icon', href: `${BASE}icon.svg`, type: 'image/svg+xml' }]],
  vite: {
    plugins: [
      {
        name: 'list-modules',
        apply: (_, { isSsrBuild }) => isSsrBuild !== true,
        generateBundle() {
          const source = JSON.stringify([...this.getModuleIds()])
          this.emitFile({ type: 'asset', fileName: MODULES, source })
        },
      },
    ],
  },
  themeConfig: {
    search: { provider: 'local', options: { detailedView: true } },
    outline: { level: [2, 3] },
    externalLinkIcon: true,
    nav: [
      { text: 'Start', link: '/start/five-minutes', activeMatch: '^/start/' },
      { text: 'Guides', link: '/guides/sign-a-request', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/reference/endpoints', activeMatch: '^/reference/' },
      { text: 'Self-hosting', link: '/self-hosting/', activeMatch: '^/(self-hosting|runbooks)/' },
      { text: 'API', link: '/api/index.html', target: '_self' },
      ...(repository ? [{ text: 'Source', link: repository.url.replace(/^git\+|\.git$/g, '') }] : []),
    ],
    sidebar: SECTIONS.map(({ text, items }) => ({
      text,
      items: items.map(({ text, link }) => ({ text, link: `/${link}` })),
    })),
    docFooter: { prev: 'Previous', next: 'Next' },
  },
})

/** As Git hosts make anchors of headings: `price_changed` keeps its underscore, and a link works in both places. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}
