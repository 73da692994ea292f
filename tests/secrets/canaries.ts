import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PROCESSES } from '@shopwire/test-kit/servers'

/** Secrets that a test has planted, and a search for them in whatever the system leaves behind. */
export interface Canaries {
  /** Notes values that must be found nowhere; returns the first. */
  plant(kind: string, ...values: string[]): string
  count(): number
  /** Kind and place of every canary in the text, in any spelling; never the value, which would be in the output of CI. */
  findIn(place: string, text: string | Buffer, options?: { but?: readonly string[] }): string[]
}

/** Shorter ones would be found by chance. */
const LENGTH_MIN = 10

export function createCanaries(): Canaries {
  const planted: { kind: string; value: string; spellings: readonly Buffer[] }[] = []
  return {
    plant(kind, ...values) {
      for (const value of values) {
        if (value.length < LENGTH_MIN) throw new Error(`a canary of the kind "${kind}" is too short`)
        if (planted.every((one) => one.value !== value))
          planted.push({ kind, value, spellings: spellings(value) })
      }
      return values[0] ?? ''
    },
    count: () => planted.length,
    findIn(place, text, { but = [] } = {}) {
      const bytes = Buffer.from(text)
      const found = planted.filter(
        ({ kind, spellings }) => !but.includes(kind) && spellings.some((one) => bytes.includes(one)),
      )
      return [...new Set(found.map(({ kind }) => `${kind} in ${place}`))]
    },
  }
}

/** As it is, as the bytes of a database dump, as base64, and as part of a URL. */
function spellings(value: string): Buffer[] {
  const bytes = Buffer.from(value)
  const all = [
    value,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(value),
  ]
  return [...new Set(all)].map((one) => Buffer.from(one))
}

/** Everything in a folder, and in the folders below. */
export async function readTree(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Buffer.concat(
    await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name)))),
  )
}

/** Command lines of every process on this machine, as anybody who may run `ps` sees them. */
export function readCommandLines(): string {
  return [...PROCESSES.commandLines().values()].join('\n')
}
