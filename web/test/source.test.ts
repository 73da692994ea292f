import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const WEB = join(import.meta.dirname, '..')
const all = ['apps', 'client', 'kit', 'lib']
  .flatMap((folder) =>
    readdirSync(join(WEB, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .map((name) => ({ name, text: /\.(tsx?|css)$/.test(name) ? readFileSync(join(WEB, name), 'utf8') : '' }))
const sources = all.filter(({ name }) => /\.tsx?$/.test(name))

/** Mantine's style props. With an object as value each writes a <style[ >{]> element, and the policy takes the page down with it. */
const STYLE_PROPS =
  'm p mt mb ml mr mx my ms me pt pb pl pr px py ps pe w h miw maw mih mah fz fw ff lh c bg bd bdrs ta td tt fs lts pos top left bottom right inset display flex opacity gap rowGap columnGap align justify direction wrap cols spacing verticalSpacing span offset order visibleFrom hiddenFrom'.split(
    ' ',
  )

test('no style prop has a value per breakpoint: use a CSS module', () => {
  const pattern = new RegExp(`\\s(${STYLE_PROPS.join('|')})=\\{\\{\\s*(base|xs|sm|md|lg|xl)\\s*:`, 'g')
  const visibility = /\s(visibleFrom|hiddenFrom)=/g
  for (const { name, text } of sources) {
    expect(text.match(pattern), name).toBeNull()
    expect(text.match(visibility), name).toBeNull()
  }
})

test('no component of Mantine that always writes a style element is used', () => {
  for (const { name, text } of sources) {
    const imported = text.match(/import \{([^}]*)\} from '@mantine\/core'/)?.[1] ?? ''
    expect(imported, name).not.toMatch(/\b(AppShell|Grid|SimpleGrid|ColorSchemeScript)\b/)
  }
})

test('nothing writes HTML or styles from strings', () => {
  for (const { name, text } of sources) {
    expect(text, name).not.toMatch(
      /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|<style[ >{]|document\.write|\beval\(/,
    )
  }
})

test('the contract is imported only as types, and beside it only the look', () => {
  for (const { name, text } of sources) {
    for (const [statement, , from] of text.matchAll(/^import (type )?[^'"]*from '(@shopwire\/[^']+)'/gm)) {
      if (from === '@shopwire/look') continue
      expect(from, name).toMatch(/^@shopwire\/contract(\/dashboard)?$/)
      expect(statement, name).toMatch(/^import type /)
    }
  }
})

test('Mantine charts and recharts are imported in the lazily loaded file only', () => {
  for (const { name, text } of sources) {
    if (name.endsWith('chart-drawings.tsx')) continue
    expect(text, name).not.toMatch(/from '(@mantine\/charts|recharts)/)
  }
})

test('colours, sizes of text and breakpoints are in look/ alone', () => {
  for (const { name, text } of all) {
    if (name === 'kit/theme/variables.css') continue
    expect(text, name).not.toMatch(/#[0-9a-f]{3,8}\b(?=['";,)])|\brgba?\(/i)
    expect(text, name).not.toMatch(/font-size: *[\d.]+px|fontSize: *['"]?\d/)
    expect(text, name).not.toMatch(/@media[^{]*width: *\d|matchMedia\('|useMediaQuery\('/)
  }
})
