import { openMachine, variablesOf } from '@shopwire/test-kit/pages/runbook'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { startPostgres, until } from '@shopwire/test-kit/servers'
import {
  expectHeldOnce,
  expectQuarantine,
  expectVerified,
  openDrillStore,
  openRestored,
  SOON_MS,
  startRestored,
  untilPositionKept,
} from '@shopwire/test-kit/shops/restore-drill'
import { psql } from '@shopwire/test-kit/systems'
import { expect, onTestFinished, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

/** Restores and failovers with real servers, by the commands of docs/runbooks as they are written there. */

test('a base backup recovered to its end: 200 orders are missing, nothing moves until an operator opens the store, no link is held twice', async () => {
  const machine = await openMachine()
  const postgres = await startPostgres({
    settings: { archive_mode: 'on', archive_command: `cp %p ${machine.backups}/wal/%f` },
  })
  onTestFinished(() => postgres.stop())
  const store = await openDrillStore(postgres, 500)
  const kept = await store.handOut(await store.buy(20))
  await store.worker.kill('SIGTERM')
  const waiting = [...(await store.buy(8)), ...(await store.buy(4, store.supplied))]
  const variables = variablesOf(postgres)
  await machine.run('restore', 'base-before', variables)
  await store.worker.start()
  const again = await store.handOut(waiting)
  const lost = await store.handOut(await store.buy(200))
  expect(lost.size).toBe(200)
  await untilPositionKept(store.system)
  await store.die()

  const recovery = { ...variables, RECOVERY_TARGET: "recovery_target = 'immediate'" }
  await machine.run('restore', 'base-server', recovery)
  const restored = await startRestored(store, machine)
  await expectQuarantine(store, restored, /is not the one the store last ran on/, waiting)
  const sent = store.proxy.refused.length
  const found = await openRestored(restored, { thorough: true })
  expect(found.status).toContain('The timeline differs')
  expect(found.orders.filter(({ status }: { status: string | null }) => status === null)).toHaveLength(200)
  expect(found.kept).toMatchObject({ set_aside: 208, given_back: 8 })

  // The same links as before, from the pool and from the supplier.
  expect(await restored.handOut(waiting)).toEqual(again)
  const next = await restored.handOut(await restored.buy(100))
  expect(next.size).toBe(100)
  expectHeldOnce(kept, again, lost, next)
  await until(
    () => store.proxy.refused.length > sent,
    SOON_MS,
    () => 'no webhook is sent',
  )
  await expectVerified(restored)
})

test.skipIf(IS_SHORT)(
  'an asynchronous standby that lost its last second is promoted: what was delivered in it is not sold again',
  async () => {
    const machine = await openMachine()
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const store = await openDrillStore(postgres, 200)
    const variables = variablesOf(postgres)
    await machine.run('restore', 'standby', variables)
    const kept = await store.handOut(await store.buy(20))
    const standby = machine.moved(variables.OLD ?? '')
    await until(
      async () => (await psql(standby, `select count(*) from orders where status = 'delivered'`)) === '20',
      SOON_MS,
      () => 'the standby does not follow',
    )
    await psql(standby, `alter system set primary_conninfo = ''`)
    await psql(standby, 'select pg_reload_conf()')
    await until(
      async () => (await store.system.query('select count(*) from pg_stat_replication')) === '0',
      SOON_MS,
      () => 'the standby still follows',
    )
    const lost = await store.handOut(await store.buy(40))
    await untilPositionKept(store.system)
    await store.die()

    await machine.run('restore', 'standby-server', variables)
    const restored = await startRestored(store, machine)
    await expectQuarantine(store, restored, /is not the one the store last ran on/, [])
    const found = await openRestored(restored)
    expect(found.orders).toHaveLength(40)
    expect(found.kept).toMatchObject({ set_aside: 40, given_back: 0 })
    const next = await restored.handOut(await restored.buy(60))
    expectHeldOnce(kept, lost, next)
    await expectVerified(restored)
  },
)

// Threat 10.
test.skipIf(IS_SHORT)(
  'a synchronous standby is promoted while orders come in: every order that was confirmed is there, and none is missing in the comparison',
  async () => {
    const machine = await openMachine()
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const store = await openDrillStore(postgres, 2_000)
    const variables = variablesOf(postgres)
    await machine.run('restore', 'standby', variables)
    await machine.run('restore', 'synchronous', variables)
    await until(
      async () => (await store.system.query('select sync_state from pg_stat_replication')) === 'quorum',
      SOON_MS,
      () => 'the standby is not synchronous',
    )
    const confirmed = store.buyUntilLost()
    await until(
      async () =>
        Number(await store.system.query(`select count(*) from orders where status = 'delivered'`)) > 15,
      SOON_MS,
      () => 'orders are not delivered',
    )
    await store.die()
    const ids = await confirmed

    await machine.run('restore', 'standby-server', variables)
    const restored = await startRestored(store, machine)
    const found = await openRestored(restored)
    expect(found.orders.filter(({ status }: { status: string | null }) => status === null)).toEqual([])
    await restored.handOut(ids)
    await expectVerified(restored)
  },
)

test.skipIf(IS_SHORT)(
  'a dump restored on an empty server works as documented, and a copy of the files with the same identity is closed before anything is sold',
  async () => {
    const machine = await openMachine()
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const store = await openDrillStore(postgres, 60)
    const variables = variablesOf(postgres)
    const kept = await store.handOut(await store.buy(4))
    await machine.run('restore', 'dump-before', variables)
    const snapshot = await openMachine()
    await snapshot.shell('pg_basebackup --dbname="$OLD" --pgdata="$PGDATA" --checkpoint=fast', variables)
    const lost = await store.handOut(await store.buy(12))
    await untilPositionKept(store.system)
    // The server itself is started again after a crash: nothing is missing, and the store opens by itself.
    await postgres.restart('kill9')
    const [buyer] = store.buyers
    const first = await buyer?.settle(store.system.ports[0] ?? 0, newOrder({ id: store.pooled }))
    const more = await store.handOut([first?.body.id, ...(await store.buy(3))])
    await store.die()

    await snapshot.shell('pg_ctl --log="$PGDATA/server.log" --options="$PG_OPTIONS" --wait start', variables)
    const copied = await startRestored(store, snapshot)
    await expectQuarantine(store, copied, /an earlier state of the store than its journal has seen/, [])
    await snapshot.killServer()

    await machine.run('restore', 'dump-server', variables)
    const restored = await startRestored(store, machine)
    await expectQuarantine(store, restored, /is not the one the store last ran on/, [])
    const found = await openRestored(restored)
    expect(found.status).toContain('The system identifier differs')
    expect(found.kept).toMatchObject({ set_aside: 16 })
    const next = await restored.handOut(await restored.buy(20))
    expectHeldOnce(kept, lost, more, next)
    await expectVerified(restored)
  },
)
