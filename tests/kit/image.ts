import assert from 'node:assert/strict'
import type { Receiver } from '../../conformance/receiver.ts'
import { checkConformance } from './checks.ts'
import { say } from './command.ts'
import type { Engine } from './engine.ts'
import { proveHardening } from './hardening.ts'
import { writeBlock } from './page.ts'
import { stopUnderLoad } from './stop-under-load.ts'
import { newStore, setIn } from './store.ts'

/** What every part of the proof is given. */
export interface Given {
  readonly engine: Engine
  readonly receiver: Receiver
}

/** Owns nothing, belongs to no group that does, and is not the user that the image names. */
const STRANGER = 12_345

/** The image as compose starts it, as a user id of our choice: what it may do, what it answers, and how it stops. */
export async function proveImage({ engine, receiver }: Given) {
  const store = await newStore(engine, 'image')
  try {
    await store.shopwire('init')
    await setIn(store, '.env', { SHOPWIRE_USER: `${STRANGER}:${STRANGER}` })
    await store.shopwire('up')
    const hardening = await proveHardening(store, STRANGER)
    say(JSON.stringify(hardening))
    const operator = await store.openOperator()
    const conformance = await checkConformance('http://127.0.0.1:8080/v1', operator, receiver)
    assert.equal(conformance.passed, conformance.checks, 'every conformance check passes')
    const stops = await stopUnderLoad(store, operator)
    const { ok } = await operator.admin('verify')
    assert.equal(ok, true, 'every rule holds')
    await writeBlock(
      'image',
      [
        '| What | Seen |',
        '|---|---|',
        `| size of the image | ${hardening.imageMb} MB |`,
        `| user, capabilities, root | uid ${hardening.uid}; all five capability sets ${hardening.capabilities}; mounted read-only |`,
        `| conformance, from outside | ${conformance.passed} of ${conformance.checks} checks |`,
        `| ${stops.stops} × SIGTERM and start under ${stops.orders_per_s} orders/s | ${stops.orders} acknowledged orders, each in the database once; ${stops.lost} calls cut off and settled by the retry, ${stops.refused} refused with 503, ${stops.unreachable} not connected while the container was down; longest wait of a caller ${(stops.longest_wait_ms / 1000).toFixed(1)} s |`,
      ],
      'tests/README.md',
    )
    return { ...hardening, conformance, stops }
  } finally {
    await store.remove()
  }
}
