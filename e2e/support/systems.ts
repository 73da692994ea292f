import { type AdmissionKind, type System, type SystemOptions, startSystem } from './system.ts'

/** One system of every kind of admission, side by side on one database. */
export interface Systems {
  of(admission: AdmissionKind): System
  stop(): Promise<void>
}

export async function startSystems(options: Omit<SystemOptions, 'admission' | 'sharing'>): Promise<Systems> {
  const base = await startSystem({ ...options, admission: 'postgres' })
  const [redis, cluster] = await Promise.all([
    startSystem({ ...options, admission: 'redis', sharing: base }),
    startSystem({ ...options, admission: 'redis-cluster', sharing: base }),
  ])
  const byKind = { postgres: base, redis, 'redis-cluster': cluster }
  return {
    of: (admission) => byKind[admission],
    async stop() {
      await Promise.all([redis.stop(), cluster.stop()])
      await base.stop()
    },
  }
}
