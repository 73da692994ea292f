import { startRedis, startRedisCluster } from '@shopwire/test-kit/redis'
import { type ProvisionedDatabase, provisionDatabase, startPostgres } from '@shopwire/test-kit/servers'
import type { TestProject } from 'vitest/node'
import { SCHEMA } from '../src/installation.ts'
import { migrate } from '../src/platform/schema/migrate.ts'
import { TEMPLATE_DATABASE } from './database.ts'

declare module 'vitest' {
  interface ProvidedContext {
    superuserUrl: string
    /** The template's logins. */
    database: ProvisionedDatabase
    redisUrl: string
    redisClusterUrls: string[]
  }
}

/** One private PostgreSQL, Redis and Redis Cluster for all test files; each file clones the migrated template. */
export default async function setup(project: TestProject) {
  const [postgres, redis, cluster] = await Promise.all([
    startPostgres(),
    startRedis(),
    startRedisCluster({ masters: 3 }),
  ])
  const database = await provisionDatabase(postgres, TEMPLATE_DATABASE)
  await migrate(database.ownerUrl, SCHEMA)
  project.provide('superuserUrl', postgres.superuserUrl)
  project.provide('database', database)
  project.provide('redisUrl', redis.url)
  project.provide('redisClusterUrls', cluster.urls)
  return () => Promise.all([postgres.stop(), redis.stop(), cluster.stop()])
}
