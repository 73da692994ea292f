/** Levenshtein distance: how many letters have to be added, removed or replaced to turn one text into the other. */
export function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [row, letter] of [...a].entries()) {
    const current = [row + 1]
    for (let n = 0; n < b.length; n += 1) {
      const replaced = (above[n] as number) + (b[n] === letter ? 0 : 1)
      current.push(Math.min(replaced, (above[n + 1] as number) + 1, (current[n] as number) + 1))
    }
    above = current
  }
  return above[b.length] as number
}
