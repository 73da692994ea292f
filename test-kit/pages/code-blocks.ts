import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A fenced block of a page: ```js run=service file=buy.mjs */
export interface CodeBlock {
  readonly page: string
  /** Anchor of the `##` heading above it. */
  readonly section: string
  readonly line: number
  readonly language: string
  readonly marks: Readonly<Record<string, string>>
  readonly code: string
}

/** Markdown files of the repository that people read, as paths from its root. */
export async function readPages(): Promise<{ path: string; text: string }[]> {
  const inDocs = (await readdir(join(ROOT, 'docs'), { recursive: true })).filter(
    (name) => name.endsWith('.md') && !/(^|\/)(node_modules|\.[^/]+)\//.test(name),
  )
  const inExamples = (await readdir(join(ROOT, 'examples'), { recursive: true })).filter(
    (name) => name.endsWith('README.md') && !name.includes('node_modules'),
  )
  const paths = [
    ...inExamples.map((name) => `examples/${name}`),
    ...inDocs.map((name) => `docs/${name}`),
    ...[
      'README.md',
      'ARCHITECTURE.md',
      'CHANGELOG.md',
      'CODE_OF_CONDUCT.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
    ],
    ...[
      'bench',
      'conformance',
      'contract',
      'contract/vectors',
      'deploy',
      'cli',
      'emulator',
      'sdk',
      'service',
      'test-kit',
      'test-kit/servers',
      'tests',
      'tools',
      'web',
    ].map((folder) => `${folder}/README.md`),
  ]
  return Promise.all(
    paths.sort().map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
  )
}

/** Those inside lists, too, without their indentation. */
export function codeBlocks({ path, text }: { path: string; text: string }): CodeBlock[] {
  return [...text.matchAll(/^( *)```(\w+)([^\n]*)\n([\s\S]*?)\n\1```$/gm)].map((found) => {
    const [, indent = '', language = '', marks = '', code = ''] = found
    const before = text.slice(0, found.index)
    return {
      page: path,
      section: anchorOf([...before.matchAll(/^## (.+)$/gm)].at(-1)?.[1] ?? ''),
      line: before.split('\n').length,
      language,
      marks: Object.fromEntries([...marks.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }
  })
}

/** As Git hosts and the portal make anchors of headings. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}
