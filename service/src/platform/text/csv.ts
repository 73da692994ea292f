/** A spreadsheet runs what begins with one of these characters; with an apostrophe in front it shows it. */
const inert = (text: string) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

/** One value, always in quotation marks; nothing for null. */
export const csvText = (value: string | null): string => (value === null ? '' : quoted(inert(value)))

/** One line, with quotation marks around the cells that need them. */
export function csvLine(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const text = inert(cell)
    return /[",\r\n]/.test(text) ? quoted(text) : text
  })
  return `${written.join(',')}\r\n`
}
