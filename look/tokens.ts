/** Every colour on the screen, as [light, dark]. In CSS: `var(--sw-line-strong)` for `lineStrong`. */
export const tokens = {
  canvas: ['#ffffff', '#101112'],
  rail: ['#f7f7f5', '#0b0c0d'],
  railActive: ['#e7e7e4', '#1b1c1e'],
  raised: ['#ffffff', '#17181a'],
  sunken: ['#f6f6f4', '#0b0c0d'],
  hover: ['#f7f7f5', '#1c1e21'],
  line: ['#e8e7e3', '#242628'],
  lineStrong: ['#d3d2cc', '#383b3f'],
  ink: ['#17181a', '#ededeb'],
  ink2: ['#515359', '#b0b2b6'],
  ink3: ['#686a70', '#8f9298'],
  accent: ['#2f4fd0', '#93a8ff'],
  accentSoft: ['#eff2fd', '#181d33'],
  ok: ['#1a7446', '#5fc48c'],
  okSoft: ['#e9f5ee', '#11261b'],
  warn: ['#8a5600', '#e3b24e'],
  warnSoft: ['#fcf4e2', '#2a2211'],
  bad: ['#b3261e', '#ff8f80'],
  badSoft: ['#fdeeec', '#331816'],
  chartMain: ['#4a66dc', '#6f88f2'],
  chartQuiet: ['#8d9099', '#72767f'],
  chartWarn: ['#b87708', '#e3b24e'],
  chartBad: ['#cf3a30', '#ff8f80'],
  chartGrid: ['#efeeea', '#1e2022'],
  /** A QR code is black on white in every theme: cameras want it so. */
  qrGround: ['#ffffff', '#ffffff'],
  qrInk: ['#000000', '#000000'],
  /** What lies over the page behind a dialog. */
  veil: ['rgb(23 24 26 / 32%)', 'rgb(0 0 0 / 56%)'],
} as const satisfies Readonly<Record<string, readonly [light: string, dark: string]>>

export type Token = keyof typeof tokens

/** `ink2` → `--sw-ink-2` */
export const cssName = (token: string): `--sw-${string}` =>
  `--sw-${token.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replace(/(\d)/, '-$1')}`

export const css = (token: Token): string => `var(${cssName(token)})`
