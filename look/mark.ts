/** The sign of the product: a square with a wire through it. */
export const MARK = {
  box: 22,
  radius: 5.5,
  wire: 'M5.5 14.2c3.4 0 4.2-1 5.5-3.2s2.1-3.2 5.5-3.2',
  strokeWidth: 2,
} as const
