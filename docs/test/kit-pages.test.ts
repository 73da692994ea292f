import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { COMPOSE_PAGES } from '../../tests/kit/compose.ts'
import { ROOT } from '../../tests/kit/root-folders.ts'
import { SYSTEMD_PAGES } from '../../tests/kit/systemd.ts'

test.each([...COMPOSE_PAGES, ...SYSTEMD_PAGES])(
  '$page has the commands that npm run kit runs for "$name", in this order',
  ({ page, name, steps }) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const [, block = ''] = text.split(`<!-- made by npm run kit: ${name} -->`)
    const [made = ''] = block.split(`<!-- end: ${name} -->`)
    const shown = [...made.matchAll(/^```console\n\$ (.*(?:\n> .*)*)$/gm)].map(([, command = '']) =>
      command.replaceAll('\n> ', '\n'),
    )
    const run = steps.flatMap((step) => (typeof step === 'string' ? [] : [step.$]))
    expect(shown.length).toBe(run.length)
    // What a step read before stands in for its name.
    run.forEach((command, n) => {
      const pattern = command.split(/\{\w+\}/).map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      expect(shown[n]).toMatch(new RegExp(`^${pattern.join('\\S+')}$`))
    })
  },
)
