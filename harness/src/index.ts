export { ageMemory } from './database/admission-memory.ts'
export { type BackupRig, openBackupRig } from './database/backup-rig.ts'
export { dump, openSession, psql } from './database/psql.ts'
export { type Item, newItem, newLinks } from './goods.ts'
export {
  type AccountOptions,
  type AdminCommand,
  createOperator,
  dollars,
  type Operator,
  operatorBy,
} from './operator.ts'
export { familyCpuMs } from './programs/process-usage.ts'
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
} from './programs/program.ts'
export {
  type ApiProcess,
  type ServerProcess,
  startApi,
  startDashboard,
  startScript,
  startWorker,
  type WorkerProcess,
} from './programs/server-process.ts'
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
export { type HttpServer, startHttpServer } from './stand-ins/http-server.ts'
export { type KmsFault, type KmsServer, startKms } from './stand-ins/kms.ts'
export { type StripeServer, startStripe } from './stand-ins/stripe.ts'
export type { StripePayment, StripeReversal, StripeSession } from './stand-ins/stripe-merchant.ts'
export { type Supplier, type SupplierAsk, startSupplier } from './stand-ins/supplier.ts'
export { startTlsProxy, type TlsProxy } from './stand-ins/tls-proxy.ts'
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
