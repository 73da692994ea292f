import { appendFileSync } from 'node:fs'

/** `.ci/run` sets it, and prints the sums at its end. */
const FILE = process.env.SHOPWIRE_STARTS

/** Writes down how long a start took. One line in one write, because test files run side by side. */
export async function timed<Started>(what: string, start: () => Promise<Started>): Promise<Started> {
  const beganMs = performance.now()
  try {
    return await start()
  } finally {
    const ms = Math.round(performance.now() - beganMs)
    if (FILE !== undefined) appendFileSync(FILE, `${JSON.stringify({ what, ms })}\n`)
  }
}
