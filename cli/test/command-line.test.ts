import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { commandLine } from '../src/command-line.ts'
import { folder, onTerminal, program, shopwire, strangersEnv } from './support.ts'

/** Global options, documented once before the commands. */
const IN_COMMON = ['--json', '--profile']

test('--version and --help work without a profile and send nothing', async () => {
  expect(await shopwire(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
  const help = await shopwire(['--help'])
  expect(help.code).toBe(0)
  for (const name of ['status', 'orders', 'reconcile', 'listen', 'doctor', 'profile']) {
    expect(help.stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
  }
})

test('every command and subcommand has a help text with an example or a sentence', async () => {
  const { program: whole } = await commandLine([], true)
  for (const command of whole.commands) {
    for (const one of command.commands.length > 0 ? command.commands : [command]) {
      expect(one.description().length, one.name()).toBeGreaterThan(5)
    }
    let help = ''
    command.configureOutput({
      writeOut: (text) => {
        help += text
      },
    })
    command.outputHelp()
    expect(help).toContain('Examples:')
    expect(help).toContain('--json')
  }
})

test('the page of the reference has every command, subcommand and option', async () => {
  const read = (path: string) => readFile(new URL(`../../docs/${path}`, import.meta.url), 'utf8')
  const page = await read('reference/command-line.md')
  // golive has its own page, linked from the reference page.
  const golive = await read('guides/go-live.md')
  const { program: whole } = await commandLine([], true)
  const missing = whole.commands.flatMap((command) => {
    const section = sectionOf(page, command.name()) + (command.name() === 'golive' ? golive : '')
    return [command, ...command.commands]
      .flatMap((one) => [one.name(), ...one.options.flatMap(({ long }) => long ?? [])])
      .filter((word) => !section.includes(word) && !IN_COMMON.includes(word))
      .map((word) => `${command.name()} ${word}`)
  })
  expect(missing).toEqual([])
})

test.each([
  [['frobnicate'], /Unknown command/],
  [['statu'], /Next +Did you mean status\?$/m],
  [['orders', 'create', '--frob'], /Unknown option '--frob'/],
  [['orders', 'get'], /Missing required argument/],
  [['catalogue', 'list', '--limit', 'ten'], /whole number/],
  [['quote', '--item', '12'], /is not an item/],
  [['quote'], /The cart is empty/],
  [['sign', 'GET'], /Missing required argument/],
  [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
  [['balance'], /No API key is configured/],
])('a wrong call exits with 2 and says what to do: %j', async (args, expected) => {
  const ended = await shopwire(args)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(expected)
  expect(ended.stderr).toMatch(/Next {4}\S/)
})

test('without a command it prints its help and exits with 2', async () => {
  expect(await shopwire([])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Usage: shopwire'),
  })
  expect((await shopwire(['help', 'orders'])).stdout).toContain('Usage: shopwire orders')
})

test('with --json an error is one JSON document on stderr, and stdout stays empty', async () => {
  const { code, stdout, stderr } = await shopwire(['orders', 'create', '--frob', '--json'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(JSON.parse(stderr)).toMatchObject({
    error: { type: 'usage', request_id: null, message: expect.any(String) },
  })
})

test('output is coloured only on terminals and without NO_COLOR', async () => {
  const codes = '\u001b['
  expect((await shopwire(['--help'])).stdout).not.toContain(codes)
  expect((await onTerminal(['--help'], {}, '', /never/)).stdout).toContain(codes)
  expect((await onTerminal(['--help'], { NO_COLOR: '1' }, '', /never/)).stdout).not.toContain(codes)
})

test('exits with 0 when the reader of stdout closes it early', async () => {
  const path = join(await folder(), 'piped.sh')
  await writeFile(
    path,
    `"${process.execPath}" "${program}" completion zsh | head -1; echo "\${PIPESTATUS[0]}"`,
  )
  const { stdout, stderr } = await promisify(execFile)('bash', [path], { env: strangersEnv() })
  expect(stdout).toBe('#compdef shopwire\n0\n')
  expect(stderr).toBe('')
})

test('bash completes commands, subcommands, options and values', async () => {
  const script = (await shopwire(['completion', 'bash'])).stdout
  const complete = async (line: string) => {
    const words = line.split(' ')
    const code = `${script}
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _shopwire; echo "\${COMPREPLY[*]}"`
    return (await promisify(execFile)('bash', ['-c', code])).stdout.trim()
  }
  expect(await complete('shopwire ba')).toBe('balance')
  expect(await complete('shopwire orders ')).toBe('list get create wait export prove')
  expect(await complete('shopwire orders create --ye')).toBe('--yes')
  expect(await complete('shopwire --json orders create --pro')).toBe('--profile')
  expect(await complete('shopwire trigger order.d')).toBe('order.delivered')
  expect(await complete('shopwire completion z')).toBe('zsh')
})

test('the scripts for zsh and fish contain every command', async () => {
  for (const shell of ['zsh', 'fish']) {
    const { stdout, code } = await shopwire(['completion', shell])
    expect(code).toBe(0)
    for (const word of ['orders', 'reconcile', 'prove', 'forward-to', 'order.delivered'])
      expect(stdout).toContain(word)
  }
})

/** Loaded before the program: prints how many microseconds of CPU time the process took. Unlike its duration they do not grow beside others. */
const CPU_METER = `data:text/javascript,${encodeURIComponent(
  "process.on('exit', () => { const { user, system } = process.cpuUsage(); process.stderr.write(String(user + system)) })",
)}`

test('--version takes less than three times the CPU time of starting Node', async () => {
  const measure = async (args: readonly string[]) => {
    const { stderr } = await promisify(execFile)(process.execPath, ['--import', CPU_METER, ...args], {
      env: strangersEnv(),
    })
    expect(stderr).toMatch(/^\d+$/)
    return Number(stderr)
  }
  const best = async (args: readonly string[]) =>
    Math.min(await measure(args), await measure(args), await measure(args), await measure(args))
  const [bare, ours] = [await best(['-e', '0']), await best([program, '--version'])]
  expect(ours).toBeLessThan(bare * 3)
})

/** The text under the headings that name the command. */
function sectionOf(page: string, command: string): string {
  return page
    .split(/^## /m)
    .filter((part) => new RegExp(`^.*\\b${command}`, 'i').test(part))
    .join('')
}
