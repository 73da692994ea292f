export { ageMemory } from './admission-memory.ts'
export { type BackupRig, openBackupRig } from './backup-rig.ts'
export { type Item, newItem, newLinks } from './goods.ts'
export { type HttpServer, startHttpServer } from './http-server.ts'
export { type KmsFault, type KmsServer, startKms } from './kms.ts'
export {
  type AccountOptions,
  type AdminCommand,
  createOperator,
  dollars,
  type Operator,
  operatorBy,
} from './operator.ts'
export { familyCpuMs } from './process-usage.ts'
export {
  COMPILE_CACHE,
  capture,
  ENDS_WITH_PARENT,
  type Ended,
  HURRIED_TIMERS,
  type ProgramName,
  runProgram,
  type Settings,
  SHIFTED_CLOCK,
  type SpawnOptions,
  spawnProgram,
  spawnScript,
} from './program.ts'
export { dump, openSession, psql } from './psql.ts'
export {
  type ApiProcess,
  type ServerProcess,
  startApi,
  startDashboard,
  startScript,
  startWorker,
  type WorkerProcess,
} from './server-process.ts'
export {
  LIMITLESS,
  limitless,
  loginSettings,
  newEncryptionKey,
  ownerSettings,
  sharedSettings,
} from './settings.ts'
export {
  type Key,
  newNonce,
  nowS,
  requestBytes,
  type SignedRequest,
  type SigningOptions,
  sign,
  signedHeaders,
} from './signed-request.ts'
export {
  type StripePayment,
  type StripeReversal,
  type StripeServer,
  type StripeSession,
  startStripe,
} from './stripe.ts'
export { type Supplier, type SupplierAsk, startSupplier } from './supplier.ts'
export {
  type AdmissionKind,
  admissionKinds,
  START_MS_MAX,
  type System,
  type SystemOptions,
  type Systems,
  startSystem,
  startSystems,
  superuserUrl,
} from './system.ts'
export { startTlsProxy, type TlsProxy } from './tls-proxy.ts'
