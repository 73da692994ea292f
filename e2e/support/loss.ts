import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { ConnectionLost, exchange } from './connection.ts'
import { type Outcome, outcomeOf, tally } from './load.ts'
import { type Key, nowS, type SignedRequest, sign } from './signed-request.ts'
import type { System } from './system.ts'
import { until } from './until.ts'

/** Something is taken away while an attacker holds requests that had just been accepted. */
export interface Loss {
  /** Seconds by which the captured requests are dated off the clock. */
  readonly datedS?: readonly number[]
  cause(): Promise<unknown> | unknown
  /** Brings it back; settles as soon as it answers. */
  restore?(): Promise<unknown>
}

export interface Aftermath {
  /** Every try of every captured request at every process, from the loss to ten seconds after the recovery. */
  readonly replays: readonly Outcome[]
  /** A fresh request every few milliseconds over the same time. */
  readonly honest: readonly Outcome[]
  readonly lostMs: number
  readonly answeringMs: number
  /** From the moment it answers until fresh requests pass at every process. */
  readonly recoveredInMs: number
}

/**
 * All within the 60 s that are allowed. Those a little ahead lie above the floor that a loss sets, and stop being ahead of
 * the clock while they are tried again.
 */
const DATED_S = [-50, 0, 1, 2, 3, 5, 8, 30, 55]
const REPLAYED_FOR_MS = 10_000
const REPLAY_EVERY_MS = 100
const TRIES_MIN = 50
const HONEST_EVERY_MS = 50
const RECOVERY_MS_MAX = 5_000
const GIVE_UP_MS = 30_000

export async function sufferLoss(system: System, key: Key, loss: Loss): Promise<Aftermath> {
  const captured = await capture(system, key, loss.datedS ?? DATED_S)
  const replays: Outcome[] = []
  const honest: Outcome[] = []
  let isOver = false
  const untilOver = async (everyMs: number, act: () => Promise<void>) => {
    for (; !isOver; await sleep(everyMs)) await act()
  }

  const lostMs = performance.now()
  await loss.cause()
  const watching = system.ports.flatMap((port) => [
    untilOver(REPLAY_EVERY_MS, async () => {
      for (const request of captured) await attempt(port, request, replays)
    }),
    untilOver(HONEST_EVERY_MS, () => attempt(port, sign(key, 'GET', '/v1/ping'), honest)),
  ])
  try {
    await loss.restore?.()
    const answeringMs = performance.now()
    const passedAt = () => system.ports.map((port) => firstSuccess(honest, port, answeringMs))
    await until(
      () => !passedAt().includes(undefined),
      GIVE_UP_MS,
      () => `fresh requests do not pass: ${JSON.stringify(tally(honest))}`,
    )
    await sleep(answeringMs + REPLAYED_FOR_MS - performance.now())
    const recoveredInMs = Math.max(...passedAt().map((at) => at ?? Number.POSITIVE_INFINITY)) - answeringMs
    return { replays, honest, lostMs, answeringMs, recoveredInMs }
  } finally {
    isOver = true
    await Promise.all(watching)
  }
}

/** What holds after every loss: nothing captured ever passes again, and honest callers are soon served. */
export function expectHeld({ replays, honest, answeringMs, recoveredInMs }: Aftermath, system: System): void {
  const statuses = new Set(replays.map(({ status }) => status))
  expect([...statuses].filter((status) => status !== 401 && status !== 503)).toEqual([])
  const triesAfterwards = replays.filter(({ sentMs }) => sentMs > answeringMs).length
  expect(triesAfterwards).toBeGreaterThan(system.ports.length * TRIES_MIN)
  expect(recoveredInMs).toBeLessThan(RECOVERY_MS_MAX)
  const later = honest.filter(({ sentMs }) => sentMs > answeringMs + recoveredInMs)
  expect(tally(later)).toEqual({ '200': later.length })
}

export function describeAftermath({ replays, honest, recoveredInMs }: Aftermath): string {
  const counts = { replays: tally(replays), honest: tally(honest) }
  return `recovered in ${Math.round(recoveredInMs)} ms; ${JSON.stringify(counts)}`
}

/** Requests that were sent and accepted; every process has met the key before. */
async function capture({ ports }: System, key: Key, datedS: readonly number[]): Promise<SignedRequest[]> {
  for (const port of ports) await exchange(port, sign(key, 'GET', '/v1/ping').bytes)
  const captured = datedS.map((off) => sign(key, 'GET', '/v1/ping', '', { timestamp: nowS() + off }))
  const answers = await Promise.all(captured.map(({ bytes }) => exchange(ports[0] ?? 0, bytes)))
  expect(answers.map(({ status }) => status)).toEqual(captured.map(() => 200))
  return captured
}

/** A process that is down answers nothing, which lets nobody in either. */
async function attempt(port: number, { bytes }: SignedRequest, outcomes: Outcome[]): Promise<void> {
  try {
    outcomes.push(outcomeOf(port, await exchange(port, bytes)))
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
  }
}

function firstSuccess(outcomes: readonly Outcome[], port: number, sinceMs: number): number | undefined {
  return outcomes.find((seen) => seen.port === port && seen.status === 200 && seen.sentMs >= sinceMs)
    ?.receivedMs
}
