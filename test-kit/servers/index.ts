export { findPostgres } from './binaries.ts'
export { makeSlowDisk, type SlowDisk } from './disks/slow-disk.ts'
export { fillDisk, mountSmallDisk, type SmallDisk } from './disks/small-disk.ts'
export { type KeptFolders, keptFolders } from './kept-folders.ts'
export type { Certificate } from './network/authority.ts'
export { createAuthority } from './network/authority.ts'
export type { DnsAnswers, DnsRule, DnsStub } from './network/dns-stub.ts'
export { startDnsStub } from './network/dns-stub.ts'
export { freePort, freePorts } from './network/ports.ts'
export {
  canMakePublicNetwork,
  inPublicNetwork,
  isInPublicNetwork,
  NO_PUBLIC_NETWORK,
  PUBLIC_ADDRESSES,
  runAgainInPublicNetwork,
} from './network/public-network.ts'
export type { ProcessName, ProvisionedDatabase } from './postgres/databases.ts'
export { changeUrls, databaseGrants, describeInstallation, provisionDatabase } from './postgres/databases.ts'
export type { Postgres, PostgresOptions, RestartMode } from './postgres/postgres.ts'
export { postgresVersion, startPostgres } from './postgres/postgres.ts'
export { closedFolderOn, findServiceUser, temporaryParent } from './postgres/service-user.ts'
export { endWithParent, makeTemporaryFolder, removeTemporaryFolder } from './processes/managed-child.ts'
export { findNpm, type Npm } from './processes/npm.ts'
export { PROCESSES } from './processes/process-facts.ts'
export { descendantsOf, isAlive, send } from './processes/process-tree.ts'
export { until } from './until.ts'
