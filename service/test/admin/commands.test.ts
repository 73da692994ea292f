import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProgram, EXIT, runAdmin } from '../../src/admin/program.ts'
import type { CommandContext } from '../../src/admin/terminal/command-context.ts'
import { exitCodesOf } from '../../src/admin/terminal/exit-codes.ts'
import { leavesOf, pathOf, worksOnDatabase } from '../../src/admin/terminal/schema-check.ts'
import { refuse } from '../../src/platform/trouble.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const PROGRAM = new URL('../../bin/admin.ts', import.meta.url).pathname

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const printed = { out: () => {}, err: () => {} }
const COMMANDS = leavesOf(createProgram(printed as unknown as CommandContext).program)

test('every command has --json and documents its exit codes in its help', async () => {
  expect(COMMANDS.length).toBeGreaterThan(90)
  for (const command of COMMANDS) {
    const path = pathOf(command)
    const { code, out } = await runAdminOn(shop, ...path.split(' '), '--help')
    expect(code, path).toBe(EXIT.ok)
    expect(out, path).toMatch(/--json +print one JSON object/)
    expect(out, path).toMatch(/Exit codes:\n {2}0 {2}done\n {2}1 {2}.*\n {2}2 {2}usage/)
    for (const [number, text] of exitCodesOf(command)) expect(out, path).toContain(`  ${number}  ${text}`)
  }
})

test('with --json every command prints one JSON object on standard error when it is refused', async () => {
  const refusing = () => {
    throw refuse('conflict', 'refused by the test')
  }
  for (const command of COMMANDS.filter(worksOnDatabase)) {
    let [out, err] = ['', '']
    const context = {
      schemaMismatch: refusing,
      out: (text: string) => (out += text),
      err: (text: string) => (err += text),
    } as unknown as CommandContext
    const path = pathOf(command)
    const values = command.registeredArguments.flatMap((one) => (one.required ? ['1.00'] : []))
    const options = command.options.flatMap((one) => (one.mandatory ? [one.long ?? '', '1.00'] : []))
    const code = await runAdmin(context, [...path.split(' '), ...values, ...options, '--json'])
    expect([EXIT.conflict, EXIT.usage], path).toContain(code)
    expect(JSON.parse(err), path).toEqual({
      error: { type: expect.any(String), message: expect.any(String) },
    })
    expect(out, path).toBe('')
  }
})

test('--version prints the version of the program', async () => {
  expect(await runAdminOn(shop, '--version')).toMatchObject({ code: EXIT.ok, out: '1.2.3\n' })
})

test('completion for bash offers every command, and the options of the one that is typed', async () => {
  const { out: script } = await runAdminOn(shop, 'completion', 'bash')
  const complete = async (...lines: string[]): Promise<string[]> => {
    const ask = `for line in "$@"; do COMP_WORDS=($line); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _shopwire_admin; echo "\${COMPREPLY[*]}"; done`
    const { stdout } = await promisify(execFile)('bash', ['-c', `${script}\n${ask}`, 'bash', ...lines])
    return stdout.trimEnd().split('\n')
  }
  const offered = await complete(
    'shopwire-admin ord',
    'shopwire-admin orders ca',
    'shopwire-admin orders cancel ord_1 --re',
    'shopwire-admin --json removals release ev',
  )
  expect(offered).toEqual(['orders', 'cancel', '--reason', 'events evidence'])
  const paths = COMMANDS.map(pathOf)
  const ofEach = await complete(...paths.map((path) => `shopwire-admin ${path}`))
  for (const [n, path] of paths.entries())
    expect(ofEach[n]?.split(' '), path).toContain(path.split(' ').at(-1))
})

test('a reader that stops early changes neither the exit code nor what is printed to standard error', async () => {
  const command = `'${process.execPath}' '${PROGRAM}' completion bash | true; echo "\${PIPESTATUS[0]}"`
  expect(await promisify(execFile)('bash', ['-c', command])).toEqual({ stdout: '0\n', stderr: '' })
})

// In a zsh of its own at a terminal of its own, since completion needs a line that is being typed.
test.skipIf(!existsSync('/bin/zsh'))(
  'completion for zsh works with no more than the documented line',
  async () => {
    const { out: script } = await runAdminOn(shop, 'completion', 'zsh')
    const folder = await mkdtemp(join(tmpdir(), 'zsh-'))
    await writeFile(join(folder, 'script'), script)
    await writeFile(join(folder, 'script'), script)
    const typed = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "HOME=$1; source $1/script; bindkey '^I' complete-word; shopwire-admin() print -r got \\$*; print re\\ady"
zpty -r shell seen '*ready*'
zpty -w shell $'shopwire-admin orders canc\\t\\nshopwire-admin orders cancel ord_1 --rea\\t\\nprint en\\\\d'
zpty -r shell seen '*end*'
print -r -- "$seen"`
    const { stdout } = await promisify(execFile)('zsh', ['-f', '-c', typed, 'zsh', folder], {
      timeout: 20_000,
    })
    await rm(folder, { recursive: true })
    const printed = stripVTControlCharacters(stdout).split(/\r?\n|\r/)
    expect(printed).toContain('got orders cancel')
    expect(printed).toContain('got orders cancel ord_1 --reason')
  },
)
