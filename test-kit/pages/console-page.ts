import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { until } from '../servers/index.ts'
import { COMPILE_CACHE, type Settings } from '../systems/index.ts'

/** A part of a page: its words, or a command whose output the page shows. */
export type Step = string | CommandStep

export interface CommandStep {
  /** `{name}` stands for an id that an earlier command printed. */
  readonly $: string
  /** Keeps the first id that is printed, or the first group of `find`, under this name. */
  readonly name?: string
  readonly find?: RegExp
  /** Runs the command again until it prints this. */
  readonly until?: RegExp
}

export interface Console {
  run(command: string): Promise<string>
  close(): Promise<void>
}

/** Bundled it starts in a third of the time. */
const ADMIN = process.env.SHOPWIRE_PROGRAMS
  ? join(process.env.SHOPWIRE_PROGRAMS, 'admin.mjs')
  : fileURLToPath(new URL('../../service/bin/admin.ts', import.meta.url))
const PRINTED_MS_MAX = 15_000

/** A shell in a folder of its own, in which `shopwire-admin` runs with these settings. */
export async function openConsole(
  settings: Settings,
  files: Readonly<Record<string, readonly string[]>> = {},
): Promise<Console> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-console-'))
  await writeFile(join(folder, 'shopwire-admin'), `#!/bin/sh\nexec "${process.execPath}" "${ADMIN}" "$@"\n`)
  await chmod(join(folder, 'shopwire-admin'), 0o755)
  for (const [name, lines] of Object.entries(files))
    await writeFile(join(folder, name), `${lines.join('\n')}\n`)
  const PATH = `${folder}:${process.env.PATH}`
  return {
    run: (command) =>
      promisify(execFile)('bash', ['-c', `exec 2>&1; ${command}`], {
        cwd: folder,
        env: { ...settings, NODE_COMPILE_CACHE: COMPILE_CACHE, USER: 'you', PATH },
      }).then(
        ({ stdout }) => stdout,
        ({ stdout }: { stdout: string }) => stdout,
      ),
    close: () => rm(folder, { recursive: true }),
  }
}

/** Runs the steps one after the other and makes the page of them. */
export async function playPage(
  shell: Pick<Console, 'run'>,
  steps: readonly Step[],
  {
    names = {},
    onFirstWait = async () => {},
  }: { names?: Record<string, string>; onFirstWait?(): Promise<void> } = {},
): Promise<string> {
  const known = new Map(Object.entries(names))
  const parts: string[] = []
  let hasWaited = false
  for (const step of steps) {
    if (typeof step === 'string') {
      parts.push(`${step}\n`)
      continue
    }
    const command = step.$.replace(/\{(\w+)\}/g, (_, name: string) => known.get(name) ?? '')
    let printed = ''
    const { until: wanted, find = /\b([a-z]+_[0-9a-z]{26})\b/ } = step
    if (wanted) {
      if (!hasWaited) await onFirstWait()
      hasWaited = true
      const isThere = async () => {
        printed = await shell.run(command)
        return wanted.test(printed)
      }
      await until(isThere, PRINTED_MS_MAX, () => `"${command}" kept printing:\n${printed}`)
    } else {
      printed = await shell.run(command)
    }
    if (step.name) known.set(step.name, find.exec(printed)?.[1] ?? '')
    parts.push(`\`\`\`console\n$ ${command}\n${printed.trimEnd()}\n\`\`\`\n`)
  }
  return parts.join('\n')
}

/** The file says what was played, ids and times aside. SHOPWIRE_WRITE_DOCS=1 writes it anew. */
export async function expectPage(file: string, page: string): Promise<void> {
  if (process.env.SHOPWIRE_WRITE_DOCS) await writeFile(file, page)
  expect(withoutAccidents(await readFile(file, 'utf8'))).toBe(withoutAccidents(page))
}

/** Ids become the order of their first appearance; times, counts of milliseconds and the login are blotted out. */
function withoutAccidents(page: string): string {
  const ids: string[] = []
  return page
    .replace(/\b([a-z]+)_(?:c1_)?[0-9a-z]{26}\b/g, (id, prefix: string) => {
      if (!ids.includes(id)) ids.push(id)
      return `${prefix}#${ids.indexOf(id)}`
    })
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3}Z)?/g, 'TIME')
    .replace(/\bcli:\w+/g, 'cli:LOGIN')
    .replace(/\b\d+(\.\d+)? m?s\b/g, 'DURATION')
    .replace(/ +/g, ' ')
}
