import { CommanderError } from 'commander'
import { commandLine } from './command-line.ts'
import { isServed } from './store/served.ts'
import { createOutput } from './terminal/output.ts'
import { EXIT, explain, printTrouble, UsageError } from './trouble.ts'

/** Runs one command and returns its exit code. All errors are reported here. */
export async function main(args: readonly string[]): Promise<number> {
  stayQuietWhenNobodyReads()
  // Read directly from the arguments, because the options may not parse.
  const isJson = args.includes('--json')
  const { program, usage, helpInstead, codeOf } = await commandLine(args)
  try {
    await program.parseAsync(args, { from: 'user' })
    return codeOf()
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    const help = error instanceof CommanderError && !isJson ? helpInstead(error) : undefined
    if (help !== undefined) {
      process.stderr.write(help)
      return EXIT.usage
    }
    const trouble = explain(error instanceof CommanderError ? new UsageError(...usage(error)) : error)
    const isLinked = trouble.docUrl !== undefined && (await isServed(trouble.docUrl))
    printTrouble(createOutput({ isJson }), isLinked ? trouble : { ...trouble, docUrl: undefined })
    return trouble.exitCode
  }
}

/** `shopwire … | head` closes the output early; that is not an error. */
function stayQuietWhenNobodyReads(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(EXIT.ok)
      throw error
    })
  }
}
