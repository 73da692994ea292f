import { readFileSync } from 'node:fs'

/**
 * Loaded into a program before its own code: its clock is off by as many milliseconds as the file says, now and whenever the
 * file changes. The clock of the machine cannot be set for one process.
 */
const path = String(process.env.TEST_CLOCK_FILE)
const realNow = Date.now
let shiftMs = Number(readFileSync(path, 'utf8'))
setInterval(() => {
  shiftMs = Number(readFileSync(path, 'utf8'))
}, 200).unref()
Date.now = () => realNow() + shiftMs
