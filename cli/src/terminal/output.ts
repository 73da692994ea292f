import { jsonText, type Paint, paintFor, wantsColour, washed } from './paint.ts'

/** All output goes through this. With --json, stdout is one document and stderr stays empty unless something fails. */
export interface Output {
  readonly isJson: boolean
  /** For stdout. */
  readonly paint: Paint
  readonly paintError: Paint
  /** Prints the result: the document with --json, otherwise the return value of `text`. */
  show(document: unknown, text: () => string): void
  /** Prints a message for a person on stderr. */
  note(text: string): void
  raw(text: string): void
  /** Prints raw bytes, for output that goes into a shell or a file. Never use it for untrusted text. */
  exact(text: string): void
  rawError(text: string): void
}

export function createOutput({ isJson }: { isJson: boolean }): Output {
  const exact = (text: string) => void process.stdout.write(text)
  const raw = (text: string) => exact(washed(text))
  const rawError = (text: string) => void process.stderr.write(washed(text))
  return {
    isJson,
    paint: paintFor(!isJson && wantsColour(process.stdout)),
    paintError: paintFor(!isJson && wantsColour(process.stderr)),
    show(document, text) {
      raw(`${isJson ? jsonText(document, 2) : text()}\n`)
    },
    note(text) {
      if (!isJson) rawError(`${text}\n`)
    },
    raw,
    exact,
    rawError,
  }
}
