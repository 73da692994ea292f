/** Every size of text, in pixels: the size and its line. In CSS: `var(--sw-text-meta)`. */
export const textSizes = {
  /** Ticks of charts, key caps. */
  tick: [11, 16],
  /** Labels, what stands beside a value. */
  meta: [12, 16],
  body: [13, 20],
  section: [14, 20],
  /** Titles of dialogs, sums. */
  lead: [16, 24],
  title: [22, 28],
  figure: [26, 36],
  /** The balance, and nothing else. */
  balance: [32, 36],
} as const satisfies Readonly<Record<string, readonly [sizePx: number, linePx: number]>>

export type TextSize = keyof typeof textSizes

export const textCss = (size: TextSize): string => `var(--sw-text-${size})`

export const fonts = {
  words: "'Inter Variable', system-ui, sans-serif",
  code: "'Geist Mono Variable', ui-monospace, monospace",
} as const
