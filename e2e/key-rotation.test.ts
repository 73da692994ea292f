import { newEncryptionKey, type System, sign, startSystem } from '@shopwire/harness'
import { expect, test } from 'vitest'
import { exchange } from './support/connection.ts'
import { startLoad, tally } from './support/load.ts'

test('threat 65: the encryption key is rotated under load, one process after the other, and no call fails', async ({
  annotate,
  onTestFinished,
}) => {
  const [old, next] = [newEncryptionKey('a'), newEncryptionKey('b')]
  const system = await startSystem({
    admission: 'postgres',
    apis: 2,
    settings: {
      SHOPWIRE_ENCRYPTION_KEYS: old,
      SHOPWIRE_REQUESTS_PER_MINUTE: '1000000',
      SHOPWIRE_SHUTDOWN_DELAY_MS: '1500',
    },
  })
  onTestFinished(() => system.stop())
  const { account_id, key } = await system.createAccount()
  const ping = () => sign(key, 'GET', '/v1/ping')
  const load = startLoad({
    ports: system.ports,
    connectionsPerPort: 2,
    request: ping,
  })
  const allServe = async () => {
    for (const port of system.ports) expect((await exchange(port, ping().bytes)).status).toBe(200)
  }
  await allServe()

  await rollOver(system, `${next},${old}`)
  await allServe()
  expect(await system.admin('encryption', 'rewrap')).toMatchObject({
    rewrapped: 1,
    active: 'b',
    unopened: 0,
  })
  await rollOver(system, next)
  await allServe()

  const outcomes = await load.stop()
  await annotate(JSON.stringify({ ...tally(outcomes), lost: load.lost() }))
  expect(tally(outcomes)).toEqual({ '200': outcomes.length })
  expect(load.lost()).toBe(0)
  // Keys made from now on are sealed under the new one, and nothing needs the old one.
  await system.createKey(account_id)
  expect(await system.admin('encryption', 'status')).toEqual({
    keys: [{ id: 'b', secrets: 2, configured: true, active: true }],
  })
})

/** As an operator would: one process at a time, each asked to stop in good order. */
async function rollOver(system: System, keys: string): Promise<void> {
  const changed = { SHOPWIRE_ENCRYPTION_KEYS: keys }
  for (const api of system.apis) {
    expect(await api.kill('SIGTERM')).toBe(0)
    await api.start(changed)
  }
  system.settings = { ...system.settings, ...changed }
}
