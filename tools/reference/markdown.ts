/** So that nobody edits a page that is written anew. Invisible where Markdown is read. */
export function madeFrom(source: string): string {
  return `<!-- Made by "npm run generate" from ${source}; do not edit. -->`
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

const LINE_LENGTH_MAX = 120

/** Breaks between words; lines after the first begin with the indentation. */
export function wrapped(text: string, indentation = ''): string {
  const lines: string[] = []
  // A space inside code stays: a newline there would be copied with it.
  for (const word of text.match(/(?:`[^`]*`|[^\s`])+/g) ?? []) {
    const last = lines.at(-1)
    const longer = last === undefined ? word : `${last} ${word}`
    if (last !== undefined && longer.length > LINE_LENGTH_MAX) lines.push(`${indentation}${word}`)
    else lines.splice(-1, 1, longer)
  }
  return lines.join('\n')
}
