export type { Certificate } from './authority.ts'
export { createAuthority } from './authority.ts'
export { findPostgres } from './binaries.ts'
export type { ProcessName, ProvisionedDatabase } from './databases.ts'
export { changeUrls, databaseGrants, describeInstallation, provisionDatabase } from './databases.ts'
export type { DnsAnswers, DnsRule, DnsStub } from './dns-stub.ts'
export { startDnsStub } from './dns-stub.ts'
export { type KeptFolders, keptFolders } from './kept-folders.ts'
export { endWithParent, makeTemporaryFolder, removeTemporaryFolder } from './managed-child.ts'
export { findNpm, type Npm } from './npm.ts'
export { freePort, freePorts } from './ports.ts'
export type { Postgres, PostgresOptions, RestartMode } from './postgres.ts'
export { postgresVersion, startPostgres } from './postgres.ts'
export { PROCESSES } from './process-facts.ts'
export { descendantsOf, isAlive } from './process-tree.ts'
export {
  canMakePublicNetwork,
  inPublicNetwork,
  isInPublicNetwork,
  NO_PUBLIC_NETWORK,
  PUBLIC_ADDRESSES,
  runAgainInPublicNetwork,
} from './public-network.ts'
export type { Redis, RedisOptions, RedisTls } from './redis.ts'
export { startRedis } from './redis.ts'
export type { RedisCluster, RedisClusterNode, RedisClusterOptions } from './redis-cluster.ts'
export { startRedisCluster } from './redis-cluster.ts'
export type { RedisReply } from './resp.ts'
export { closedFolderOn, findServiceUser, temporaryParent } from './service-user.ts'
export { until } from './until.ts'
