/** Ten shades of a colour, as Mantine wants them; its components read them where no token of ours is named. */
export const shades = {
  accent: [
    '#eff2fd',
    '#dbe2fb',
    '#b9c6f7',
    '#93a8ff',
    '#6f88f2',
    '#5470e6',
    '#3f5edc',
    '#2f4fd0',
    '#2742b0',
    '#1f358c',
  ],
  gray: [
    '#f7f7f5',
    '#f1f1ee',
    '#e8e7e3',
    '#d3d2cc',
    '#b4b3ac',
    '#8d8f94',
    '#686a70',
    '#515359',
    '#2c2d30',
    '#17181a',
  ],
  dark: [
    '#ededeb',
    '#b0b2b6',
    '#8f9298',
    '#8f9298',
    '#383b3f',
    '#242628',
    '#17181a',
    '#101112',
    '#0b0c0d',
    '#060707',
  ],
} as const

/** Only under what floats. */
export const shadows = {
  floating: '0 1px 2px rgb(0 0 0 / 5%), 0 8px 24px rgb(0 0 0 / 8%)',
  dialog: '0 2px 4px rgb(0 0 0 / 6%), 0 24px 64px rgb(0 0 0 / 18%)',
} as const
