#!/usr/bin/env node
import { terminalOf } from '../src/admin/terminal/terminal.ts'
import { runAdminProgram } from '../src/programs/admin-program.ts'

// `shopwire-admin … | head` stops reading early. The command is still completed, and the exit code says how it ended.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

process.exitCode = await runAdminProgram(process.argv.slice(2), {
  terminal: terminalOf(process),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
