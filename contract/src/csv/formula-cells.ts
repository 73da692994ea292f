/** What a spreadsheet takes for a formula and runs. The wide forms are those of Chinese and Japanese keyboards. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
const NUMBER = /^-?\d+(?:\.\d+)?$/

/** With an apostrophe in front a spreadsheet shows it as text. Amounts stay numbers that can be added up. */
export function asText(cell: string): string {
  return FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell
}

/** The inverse of `asText`, so that what was written is read back unchanged. */
export function fromText(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell
}
