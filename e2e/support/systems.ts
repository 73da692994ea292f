import { type AdmissionKind, type System, type SystemOptions, startSystem } from './system.ts'

/** One system of every kind of admission, side by side. */
export interface Systems {
  of(admission: AdmissionKind): System
  stop(): Promise<void>
}

export async function startSystems(options: Omit<SystemOptions, 'admission' | 'sharing'>): Promise<Systems> {
  const [postgres, redis, cluster] = await Promise.all([
    startSystem({ ...options, admission: 'postgres' }),
    startSystem({ ...options, admission: 'redis' }),
    startSystem({ ...options, admission: 'redis-cluster' }),
  ])
  const byKind = { postgres, redis, 'redis-cluster': cluster }
  return {
    of: (admission) => byKind[admission],
    async stop() {
      await Promise.all([postgres.stop(), redis.stop(), cluster.stop()])
    },
  }
}
