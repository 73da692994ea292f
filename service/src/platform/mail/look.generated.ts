// Made by "npm run generate" from look/; do not edit.

/** [light, dark] */
export const colours = {
  canvas: ['#ffffff', '#101112'],
  ink: ['#17181a', '#ededeb'],
  ink2: ['#515359', '#b0b2b6'],
  ink3: ['#686a70', '#8f9298'],
  line: ['#e8e7e3', '#242628'],
} as const

/** [size, line], in pixels */
export const textSizes = {
  meta: [12, 16],
  body: [13, 20],
  section: [14, 20],
  lead: [16, 24],
  title: [22, 28],
  balance: [32, 36],
} as const
