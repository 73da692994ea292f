/** So that nobody edits a page that is written anew. Invisible where Markdown is read. */
export function madeFrom(source: string): string {
  return `<!-- Made by "npm run generate" from ${source}; do not edit. -->`
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}
