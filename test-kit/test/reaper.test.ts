import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isAlive, killTree } from '../servers/processes/process-tree.ts'
import { until } from '../servers/until.ts'

const GONE_MS_MAX = 5_000

test.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'no engine and no folder is left after the parent was ended by %s',
  async (signal) => {
    const { parent, started } = await runParent('signal')
    parent.kill(signal)
    await expectAllGone(started)
  },
  60_000,
)

test.each(['exit', 'exception', 'end of script'])(
  'no engine and no folder is left after the parent ended by %s without stop()',
  async (ending) => {
    const { started } = await runParent(ending)
    await expectAllGone(started)
  },
  60_000,
)

interface Started {
  pids: number[]
  folders: string[]
}

async function runParent(ending: string) {
  const program = fileURLToPath(new URL('./parent.ts', import.meta.url))
  const parent = spawn(process.execPath, [program, ending], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: parent.stdout }), 'line')
  const started: Started = JSON.parse(line)
  expect(started.pids.every((pid) => pid > 0)).toBe(true)
  return { parent, started }
}

async function expectAllGone({ pids, folders }: Started) {
  const left = () => [...pids.filter(isAlive), ...folders.filter(existsSync)]
  try {
    await until(
      () => left().length === 0,
      GONE_MS_MAX,
      () => `still there: ${left()}`,
    )
  } finally {
    for (const pid of pids) if (isAlive(pid)) killTree(pid)
  }
}
