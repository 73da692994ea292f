import { setImmediate as moment } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createPasswords, HashingBusy } from '../../src/sessions/passwords.ts'

const COST = { memoryKib: 256, passes: 1 }

test('threat 69: of 200 hashes at once two are made at a time, a few wait, and the rest is refused to be tried again', async () => {
  let [running, most] = [0, 0]
  const work = async () => {
    running += 1
    most = Math.max(most, running)
    await moment()
    running -= 1
  }
  const passwords = createPasswords(COST, {
    hash: async () => (await work()) ?? 'hashed',
    verify: async () => (await work()) ?? true,
    atOnceMax: 2,
    waitingMax: 10,
  })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 200 }, (_, n) =>
      n % 2 === 0
        ? passwords.hash(`password ${n}`)
        : passwords.verify(n % 4 === 1 ? 'stored' : undefined, `password ${n}`),
    ),
  )
  const refused = outcomes.filter((one) => one.status === 'rejected').map(({ reason }) => reason)
  expect([most, outcomes.length - refused.length]).toEqual([2, 12])
  expect(refused.every((one) => one instanceof HashingBusy)).toBe(true)
  expect(refused[0]).toMatchObject({ type: 'service_unavailable', headers: { 'retry-after': '2' } })
  expect(await passwords.hash('afterwards')).toBe('hashed')
})

test('a hash that fails gives its place back', async () => {
  const fail = async () => {
    throw new Error('no memory')
  }
  const passwords = createPasswords(COST, { hash: fail, verify: fail, atOnceMax: 1, waitingMax: 0 })
  for (let n = 0; n < 3; n += 1) await expect(passwords.hash('one')).rejects.toThrow('no memory')
})
