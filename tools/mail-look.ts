import { textSizes, tokens } from '@shopwire/look'

const COLOURS = ['canvas', 'ink', 'ink2', 'ink3', 'line'] as const
const SIZES = ['meta', 'body', 'section', 'lead', 'title', 'balance'] as const

/** service/src/platform/mail/look.generated.ts: what the HTML of mail takes of the look, since mail clients read no style sheets. */
export function mailLookText(): string {
  return [
    '// Made by "npm run generate" from look/; do not edit.',
    '',
    '/** [light, dark] */',
    'export const colours = {',
    ...COLOURS.map((name) => `  ${name}: ['${tokens[name].join("', '")}'],`),
    '} as const',
    '',
    '/** [size, line], in pixels */',
    'export const textSizes = {',
    ...SIZES.map((name) => `  ${name}: [${textSizes[name].join(', ')}],`),
    '} as const',
    '',
  ].join('\n')
}
