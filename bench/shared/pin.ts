import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { say } from './figures.ts'

/** Which processors each part may use, as taskset writes them. */
interface Cores {
  readonly load: string
  readonly database: string
  readonly service: string
}

const CORES_MIN = 3
let cores: Cores | undefined

/**
 * From here on the load generator, the engines and the service have cores of their own, so that none of them takes the others' time. This
 * process and what it starts generate load; `placeOn` moves what is something else.
 */
export function pinParts(count = availableParallelism()): void {
  if (count < CORES_MIN) {
    throw Object.assign(new Error(`--pin needs ${CORES_MIN} cores, and there are ${count}`), {
      code: 'CANNOT_BEGIN',
    })
  }
  cores = divideCores(count)
  say(
    `load on core ${cores.load}, PostgreSQL and Redis on ${cores.database}, the service on ${cores.service}`,
  )
  move(process.pid, cores.load)
}

export function divideCores(count: number): Cores {
  const service = Math.max(1, Math.floor((count - 1) / 3))
  const range = (first: number, last: number) => (first === last ? String(first) : `${first}-${last}`)
  return {
    load: '0',
    database: range(1, count - service - 1),
    service: range(count - service, count - 1),
  }
}

/** Does nothing without --pin. */
export function placeOn(part: 'database' | 'service', pid: number | undefined): void {
  if (cores && pid !== undefined) move(pid, cores[part])
}

function move(pid: number, list: string): void {
  const { status, stderr } = spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', list, String(pid)])
  if (status !== 0)
    throw new Error(
      `taskset could not move process ${pid}: ${stderr ?? 'it is a program of Linux; is it installed?'}`,
    )
}
