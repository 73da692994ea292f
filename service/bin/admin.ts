#!/usr/bin/env node
import { runAdminProgram } from '../src/admin-program.ts'

process.exitCode = await runAdminProgram(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
