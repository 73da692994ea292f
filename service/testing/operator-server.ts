import { runAdminProgram } from '../src/programs/admin-program.ts'

/**
 * The admin program as a process that stays: it takes command lines as messages and answers each with its exit code and what
 * it printed. Most of a start of the program is loading it, and tests run hundreds of commands on one store.
 */
interface Asked {
  readonly id: number
  readonly args: readonly string[]
}

process.on('message', async ({ id, args }: Asked) => {
  const printed = { stdout: '', stderr: '' }
  const code = await runAdminProgram(args, {
    out: (text) => {
      printed.stdout += text
    },
    err: (text) => {
      printed.stderr += text
    },
  })
  process.send?.({ id, code, ...printed })
})
process.send?.('ready')
