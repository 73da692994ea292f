import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tokens } from '@shopwire/look'
import { expect, test } from 'vitest'
import { variablesCss } from '../variables.ts'

const WEB = join(import.meta.dirname, '..')

test('variables.css has the variables of theme.ts: run "npm run generate" when it does not', () => {
  expect(readFileSync(join(WEB, 'kit/theme/variables.css'), 'utf8')).toBe(variablesCss())
})

const surfaces = ['canvas', 'rail', 'raised', 'sunken', 'hover', 'accentSoft'] as const
const texts = ['ink', 'ink2', 'ink3', 'accent'] as const
const outcomes = ['ok', 'warn', 'bad'] as const
const fills = ['chartMain', 'chartQuiet', 'chartWarn', 'chartBad'] as const

for (const [scheme, name] of [
  [0, 'light'],
  [1, 'dark'],
] as const) {
  test(`every text has 4.5:1 on every surface it lies on, ${name}`, () => {
    for (const surface of surfaces) {
      for (const text of texts) {
        expect(
          contrast(tokens[text][scheme], tokens[surface][scheme]),
          `${text} on ${surface}`,
        ).toBeGreaterThan(4.5)
      }
    }
    for (const outcome of outcomes) {
      for (const surface of ['canvas', 'raised', `${outcome}Soft`] as const) {
        expect(
          contrast(tokens[outcome][scheme], tokens[surface][scheme]),
          `${outcome} on ${surface}`,
        ).toBeGreaterThan(4.5)
      }
    }
  })

  test(`every chart fill has 3:1 on the page, ${name}`, () => {
    for (const fill of fills) {
      expect(contrast(tokens[fill][scheme], tokens.canvas[scheme]), fill).toBeGreaterThan(3)
    }
  })
}

/** WCAG 2.2, contrast ratio. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
