/** The value that `share` of the values do not exceed; 0.5 is the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]] as [number, number]
  return below + (above - below) * (place - Math.floor(place))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The median of the rounds, and the least and the most of them. */
export function overRounds(name: string, values: readonly number[]): Record<string, number | number[]> {
  const spread = [Math.min(...values), Math.max(...values)].map((value) => rounded(value))
  return { [name]: rounded(median(values)), [`${name}_spread`]: spread }
}

/** As many decimals as a ratio deserves. */
export function rounded(value: number, decimals = 3): number {
  return Number(value.toFixed(decimals))
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
