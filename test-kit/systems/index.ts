export { ageMemory } from './database/admission-memory.ts'
export { type BackupRig, openBackupRig } from './database/backup-rig.ts'
export { makeDue } from './database/make-due.ts'
export { dump, openSession, psql } from './database/psql.ts'
export { type Item, newItem, newLinks } from './goods.ts'
export { readMetric, untilMetric } from './metrics.ts'
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
