import { chmod } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  canMakePublicNetwork,
  findServiceUser,
  isInPublicNetwork,
  makeTemporaryFolder,
  NO_PUBLIC_NETWORK,
  removeTemporaryFolder,
  runAgainInPublicNetwork,
  temporaryParent,
} from '@shopwire/test-kit/servers'
import { DRILLS, type Drill, writeBackups } from './drills.ts'
import { type Monitoring, startMonitoring } from './monitoring.ts'
import { runBlocks } from './runbook.ts'
import { openStore, type Store } from './store.ts'

const USAGE = `usage: npm run drills [-- --only "worker dead"]\n\n${DRILLS.map(({ name, alert }) => `  ${name}  (${alert})`).join('\n')}\n`
/** An alert has to be with a person within this time; the limit of the wait is longer, to report by how much it was missed. */
const FIRED_MS_AIM = 120_000
const FIRED_MS_MAX = 360_000
const RESOLVED_MS_MAX = 900_000
/** Until Prometheus has scraped everything once. */
const SETTLE_MS = 30_000

interface Result {
  readonly drill: string
  readonly alert: string
  readonly fired_s: number
  readonly resolved_s: number
  readonly commands: number
}

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, help: { type: 'boolean' } },
})
const chosen = DRILLS.filter(({ name }) => !values.only || values.only.includes(name))
if (values.help || chosen.length === 0) {
  process.stderr.write(USAGE)
  process.exit(2)
} else if (!isInPublicNetwork()) {
  if (!canMakePublicNetwork()) {
    process.stderr.write(`drills: ${NO_PUBLIC_NETWORK}.\n`)
    process.exit(1)
  }
  process.exitCode = await runAgainInPublicNetwork()
} else process.exitCode = await main()

async function main(): Promise<number> {
  const folder = await makeTemporaryFolder(temporaryParent(findServiceUser()), 'drills')
  // PostgreSQL's user has to enter it.
  await chmod(folder, 0o755)
  const results: Result[] = []
  const failures: string[] = []
  const ends: (() => unknown)[] = []
  const defer = (end: () => unknown) => void ends.unshift(end)
  try {
    const store = await openStore(folder, defer)
    const { system, worker, secondApi } = store
    const targets = [...system.apis, secondApi, worker].map(({ healthUrl }) => new URL(healthUrl).host)
    const monitoring = await startMonitoring(folder, [...new Set(targets)])
    defer(() => monitoring.close())
    await writeBackups(monitoring, 0, 0)
    await system.admin('verify')
    await sleep(SETTLE_MS)
    for (const wave of new Set(chosen.map((drill) => drill.wave))) {
      const own = chosen.filter((drill) => drill.wave === wave)
      for (const ended of await Promise.allSettled(own.map((drill) => play(drill, store, monitoring)))) {
        if (ended.status === 'fulfilled') results.push(ended.value)
        else failures.push(String(ended.reason))
      }
    }
  } catch (error) {
    failures.push(String((error as Error).stack))
  } finally {
    for (const end of ends) await Promise.resolve(end()).catch((error) => failures.push(String(error)))
    await removeTemporaryFolder(folder)
  }
  for (const failure of failures) process.stderr.write(`FAILED: ${failure}\n`)
  process.stdout.write(
    '\n| Fault | Alert | In the chat after | Ended after the repair |\n|---|---|---|---|\n',
  )
  for (const { drill, alert, fired_s, resolved_s } of results)
    process.stdout.write(`| ${drill} | \`${alert}\` | ${fired_s} s | ${resolved_s} s |\n`)
  const late = results.filter(({ fired_s }) => fired_s * 1000 > FIRED_MS_AIM).map(({ drill }) => drill)
  process.stdout.write(
    `${JSON.stringify({ drills: results.length, failed: failures.length, late, results })}\n`,
  )
  return failures.length > 0 || late.length > 0 ? 1 : 0
}

/** Causes a fault, waits for the message, does what the runbook says, and waits for the message that it is over. */
async function play(drill: Drill, store: Store, monitoring: Monitoring): Promise<Result> {
  const { name, alert } = drill
  const fired = new AbortController()
  const say = (what: string) => process.stdout.write(`${new Date().toISOString()} ${name}: ${what}\n`)
  try {
    const begunMs = Date.now()
    const variables = (await drill.cause(store, monitoring, fired.signal)) ?? {}
    // Making goods for a fault takes commands, and time that is not the alert's.
    const causedMs = Date.now()
    say('caused')
    const message = await monitoring.untilFiring(alert, begunMs, FIRED_MS_MAX)
    fired.abort()
    say(`"${message.title}" after ${seconds(message.atMs - causedMs)} s`)
    if (!message.text.includes(`#${alert.toLowerCase()}`))
      throw new Error(`the message names no runbook: ${message.text}`)
    const env = store.env(variables)
    const looked = await runBlocks('look', alert, env)
    await drill.fix?.(store, monitoring, variables)
    const repaired = await runBlocks('repair', alert, env)
    const repairedMs = Date.now()
    say(`${looked.length + repaired.length} blocks of the runbook were run`)
    let isOver = false
    const [over] = await Promise.all([
      monitoring.untilResolved(alert, repairedMs, RESOLVED_MS_MAX).finally(() => {
        isOver = true
      }),
      (async () => {
        while (!isOver && drill.traffic) await Promise.all([drill.traffic(store, variables), sleep(100)])
      })(),
    ])
    say(`resolved after ${seconds(over.atMs - repairedMs)} s`)
    return {
      drill: name,
      alert,
      fired_s: seconds(message.atMs - causedMs),
      resolved_s: seconds(over.atMs - repairedMs),
      commands: looked.length + repaired.length,
    }
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error })
  } finally {
    fired.abort()
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000)
}
