import { Command, type CommanderError } from 'commander'
import { type CommandEntry, exitCodeOfWork } from './command.ts'
import { commands } from './commands/index.ts'
import { paintFor, wantsColour } from './terminal/paint.ts'
import { VERSION } from './version.ts'

export interface CommandLine {
  readonly program: Command
  /** The help that was printed because no command was named. */
  helpInstead(error: CommanderError): string | undefined
  /** What is wrong with the call, and what to do. */
  usage(error: CommanderError): [message: string, next: string]
  codeOf(): number
}

/**
 * Builds the command tree. Only the commands named in the arguments are loaded; of the others only name and
 * description are needed, so the start stays fast.
 */
export async function commandLine(args: readonly string[], isWhole = false): Promise<CommandLine> {
  const program = new Command('shopwire')
  let said = ''
  program
    .description('Buys from a Shopwire store, and diagnoses integrations.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .option('--json', 'one JSON document on stdout; errors as JSON on stderr')
    .option('--profile <name>', 'use this profile (also: SHOPWIRE_PROFILE)')
    .exitOverride()
    .configureOutput({
      writeErr: (text) => {
        said += text
      },
      outputError: (text, write) => write(text),
      getOutHasColors: () => wantsColour(process.stdout),
    })
    .configureHelp({ showGlobalOptions: true, ...helpStyle() })
    .addHelpText(
      'after',
      `
Every order spends real balance; there is no sandbox. Try it with the emulator:
  npx @shopwire/emulator
  shopwire profile add emulator --emulator

Exit codes: 0 ok, 1 failed or differs, 2 usage, 3 key or scope, 4 not found, 5 conflict, 6 rate limit, 7 no answer.`,
    )
  const help = program.createCommand('help').argument('[command]').description('print help')
  program.addHelpCommand(help.helpGroup('Set up:'))
  for (const entry of commands) await add(program, entry, isWhole || isNamed(entry, args))
  return {
    program,
    helpInstead: (error) => (error.code === 'commander.help' ? said : undefined),
    usage: (error) => usage(said, error),
    codeOf: exitCodeOfWork,
  }
}

/** Every argument that equals a command name counts; loading one command too many is harmless. */
function isNamed({ name, aliases = [] }: CommandEntry, args: readonly string[]): boolean {
  return [name, ...aliases].some((one) => args.includes(one))
}

async function add(program: Command, entry: CommandEntry, isLoaded: boolean): Promise<void> {
  const command = program.command(entry.name).summary(entry.summary).helpGroup(entry.group)
  for (const alias of entry.aliases ?? []) command.alias(alias)
  if (!isLoaded) return
  const { define } = await entry.load()
  command.description(entry.summary)
  define(command, { wholeProgram: async () => (await commandLine([], true)).program })
}

function usage(said: string, error: CommanderError): [string, string] {
  if (error.code === 'commander.help') return ['No command was given.', '`--help` lists the commands.']
  const [first = '', ...rest] = said.trim().split('\n')
  const message = first.replace(/^error: /, '')
  // "(Did you mean orders?)"
  const hint = rest
    .join(' ')
    .trim()
    .replace(/^\((.*)\)$/, '$1')
  return [
    `${message[0]?.toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`,
    hint || '`--help` shows the usage.',
  ]
}

function helpStyle() {
  const paint = paintFor(wantsColour(process.stdout))
  return {
    styleTitle: (text: string) => paint.bold(text),
    styleCommandText: (text: string) => text,
    styleSubcommandText: (text: string) => paint.cyan(text),
    styleOptionText: (text: string) => paint.cyan(text),
  }
}
