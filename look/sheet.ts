import { cssName, tokens } from './tokens.ts'
import { fonts, textSizes } from './type.ts'

/**
 * look.css: the variables for a page without React, in both colour schemes. `color-scheme` on the root chooses, so a page that lets its
 * reader choose sets that, and every other follows the system. `npm run generate` keeps the file.
 */
export function lookCss(): string {
  const colours = Object.entries(tokens).map(
    ([token, [light, dark]]) =>
      `${cssName(token)}: ${light === dark ? light : `light-dark(${light}, ${dark})`};`,
  )
  const sizes = Object.entries(textSizes).map(([name, [sizePx]]) => `--sw-text-${name}: ${sizePx}px;`)
  const families = Object.entries(fonts).map(([name, family]) => `--sw-font-${name}: ${family};`)
  const rows = ['color-scheme: light dark;', '', ...colours, '', ...sizes, '', ...families]
  return [
    '/* Made by "npm run generate" from look/; do not edit. */',
    ':root {',
    ...rows.map((row) => (row === '' ? '' : `  ${row}`)),
    '}',
    '',
  ].join('\n')
}
