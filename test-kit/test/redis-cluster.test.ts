import { afterEach, expect, test, vi } from 'vitest'
import { type RedisCluster, type RedisClusterOptions, startRedisCluster } from '../redis/index.ts'
import { descendantsOf } from '../servers/processes/process-tree.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 30_000 })

const FAILOVER_MS_MAX = 30_000
/** A replica confirms what it has once a second. */
const REPLICA_ACK_MS_MAX = 5_000
/** CLUSTER KEYSLOT key */
const KEY = 'key'
const KEY_SLOT = 12_539

const opened: RedisCluster[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((cluster) => cluster.stop()))
})

async function open(options?: RedisClusterOptions): Promise<RedisCluster> {
  const cluster = await startRedisCluster(options)
  opened.push(cluster)
  return cluster
}

test('three masters share all slots, and stop() leaves no process', async () => {
  const cluster = await open({ masters: 3, replicasPerMaster: 0 })
  expect(cluster.urls).toHaveLength(3)
  const owners = await Promise.all([0, 8_000, 16_383].map((slot) => cluster.masterOf(slot)))
  expect(owners).toEqual(cluster.nodes)
  expect(cluster.nodes.every(({ port }) => port + 10_000 < 32_768)).toBe(true)
  const owner = await cluster.masterOf(KEY_SLOT)
  expect(await owner.command('SET', KEY, 'value')).toBe('OK')
  await cluster.stop()
  expect(descendantsOf(process.pid)).toEqual([])
})

test('without replicas the cluster is unhealthy after a master was killed, and healthy after its restart', async () => {
  const cluster = await open({ masters: 3, replicasPerMaster: 0 })
  const victim = await cluster.masterOf(KEY_SLOT)
  await victim.kill9()
  await expect(cluster.waitUntilHealthy(500)).rejects.toThrow(`node ${victim.port}, which does not answer`)
  await victim.start()
  await cluster.waitUntilHealthy(FAILOVER_MS_MAX)
})

test("a killed master's slots and data are served by its replica, and it returns as a replica", async () => {
  const cluster = await open({ masters: 3, replicasPerMaster: 1 })
  const victim = await cluster.masterOf(KEY_SLOT)
  await victim.command('SET', KEY, 'value')
  await expect.poll(() => replicaOffsets(cluster), { timeout: REPLICA_ACK_MS_MAX }).toBe('in step')

  await victim.kill9()
  await cluster.waitUntilHealthy(FAILOVER_MS_MAX)

  const heir = await cluster.masterOf(KEY_SLOT)
  expect(heir.port).not.toBe(victim.port)
  expect(await heir.command('GET', KEY)).toBe('value')
  expect(await heir.command('SET', KEY, 'newer')).toBe('OK')

  await victim.start()
  await cluster.waitUntilHealthy(FAILOVER_MS_MAX)
  expect(await victim.command('ROLE')).toEqual(expect.arrayContaining(['slave', heir.port, 'connected']))
})

test('a paused master loses its slots and becomes a replica when resumed', async () => {
  const cluster = await open({ masters: 3, replicasPerMaster: 1 })
  const victim = await cluster.masterOf(KEY_SLOT)
  victim.pause()
  await expect.poll(() => cluster.masterOf(KEY_SLOT), { timeout: FAILOVER_MS_MAX }).not.toBe(victim)
  victim.resume()
  await cluster.waitUntilHealthy(FAILOVER_MS_MAX)
  expect(await cluster.masterOf(KEY_SLOT)).not.toBe(victim)
})

/** Replication is asynchronous: a write survives only once the replica has confirmed its offset. */
async function replicaOffsets(cluster: RedisCluster): Promise<string> {
  const master = await cluster.masterOf(KEY_SLOT)
  const [, offset, replicas] = (await master.command('ROLE')) as [string, number, string[][]]
  return replicas.every(([, , confirmed]) => Number(confirmed) >= offset) ? 'in step' : 'behind'
}
