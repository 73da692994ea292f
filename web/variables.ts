import {
  convertCssVariables,
  DEFAULT_THEME,
  deepMerge,
  defaultCssVariablesResolver,
  mergeMantineTheme,
} from '@mantine/core'
import { cssVariablesResolver, theme } from '#kit/theme/theme.ts'

/**
 * Prints kit/theme/variables.css. Mantine would write these variables into a <style> element at run time, which the content security
 * policy refuses. `npm run generate` keeps the file.
 */
export function variablesCss(): string {
  const merged = mergeMantineTheme(DEFAULT_THEME, theme)
  const variables = deepMerge(defaultCssVariablesResolver(merged), cssVariablesResolver(merged))
  return `/* Made by "npm run generate" from web/kit/theme; do not edit. */\n${tidy(convertCssVariables(variables, ':root'))}`
}

const tidy = (text: string) =>
  `${text
    .replace(/\s*([{};])\s*/g, '$1')
    .replaceAll('{', ' {\n')
    .replaceAll(';', ';\n')
    .replaceAll('}', '}\n\n')
    .replace(/^(--)/gm, '  $1')
    .trim()}\n`

if (import.meta.main) process.stdout.write(variablesCss())
