import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import {
  CLUSTER_BUS_OFFSET,
  CLUSTER_PORT_MAX,
  PORT_ATTEMPTS_MAX,
  PORT_MAX,
  PORT_MIN,
  PORT_PROBES_MAX,
  TAKEOVER_MS_MAX,
} from '../limits.ts'
import { until } from '../until.ts'

export const HOST = '127.0.0.1'

/** A free TCP port on the loopback address, never given out twice by this process. */
export function freePort(): Promise<number> {
  return pick(PORT_MAX, (port) => [port])
}

export async function freePorts(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, freePort))
}

/** A port whose Redis Cluster bus port is free too. */
export function freeClusterPort(): Promise<number> {
  return pick(CLUSTER_PORT_MAX, (port) => [port, port + CLUSTER_BUS_OFFSET])
}

/** Thrown when another process took the port first. */
export class PortTaken extends Error {
  constructor(port: number) {
    super(`port ${port} on ${HOST} is in use by another process; nothing was done to that process`)
  }
}

/** Launches on the given port, or on a free one; chooses another when a different process took it first. */
export async function launchOnPort(
  wanted: number | undefined,
  choose: () => Promise<number>,
  launch: (port: number) => Promise<void>,
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await choose())
    if (wanted !== undefined) await portIsFree(wanted)
    try {
      await launch(port)
      return port
    } catch (error) {
      const canChooseAgain = error instanceof PortTaken && wanted === undefined && attempt < PORT_ATTEMPTS_MAX
      if (!canChooseAgain) throw error
    }
  }
}

/** Waits briefly, because the engine of an earlier run may still be releasing the port. */
export async function portIsFree(port: number): Promise<void> {
  await until(
    () => canBind(port),
    TAKEOVER_MS_MAX,
    () => new PortTaken(port).message,
  )
}

const given = new Set<number>()

async function pick(max: number, needed: (port: number) => number[]): Promise<number> {
  for (let probe = 0; probe < PORT_PROBES_MAX; probe += 1) {
    const port = randomInt(PORT_MIN, max + 1)
    const ports = needed(port)
    if (ports.some((each) => given.has(each))) continue
    // Marked before the check, so that two concurrent calls cannot both get it.
    for (const each of ports) given.add(each)
    const bindable = await Promise.all(ports.map(canBind))
    if (bindable.every(Boolean)) return port
  }
  throw new Error(`found no free port between ${PORT_MIN} and ${max}`)
}

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: HOST, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}
