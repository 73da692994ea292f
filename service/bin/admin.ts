#!/usr/bin/env node
import { terminalOf } from '../src/admin/terminal.ts'
import { runAdminProgram } from '../src/admin-program.ts'

process.exitCode = await runAdminProgram(process.argv.slice(2), {
  terminal: terminalOf(process),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
