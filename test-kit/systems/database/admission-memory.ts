import type { System } from '../system.ts'

/**
 * For two minutes after its admission state began, the service writes every nonce to the database as well. A system runs most
 * of its time later than that, and a test has no time to wait: this dates the beginning back, as if those minutes had passed.
 */
export async function ageMemory({
  query,
  redis,
  cluster,
}: Pick<System, 'query' | 'redis' | 'cluster'>): Promise<void> {
  await query('update admission_memory set lost_at = 0')
  const masters = cluster
    ? await Promise.all(CLUSTER_SLOTS_ASKED.map((slot) => cluster.masterOf(slot)))
    : redis
      ? [redis]
      : []
  for (const master of masters) await master.command('EVAL', AGE_LUA, '0')
}

/** One slot of each of the three masters. */
const CLUSTER_SLOTS_ASKED = [0, 8_000, 16_000]
const AGE_LUA = `
for _, key in ipairs(redis.call('KEYS', 'shopwire:memory:*')) do
  redis.call('HSET', key, 'lost_at', '1')
end
return 1`
