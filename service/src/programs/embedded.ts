/**
 * The only module through which the emulator uses the service: its parts, to be composed in one process with some of them
 * replaced. The service itself does not import it.
 */
export type { Admission, Attempt, Verdict } from '../access/admission.ts'
export { createAccount, getAccount } from '../accounts/account.ts'
export { createKey, findLiveKey, openSecret } from '../accounts/api-key.ts'
export { readCatalogueFile } from '../catalogue/file/catalogue-file.ts'
export { getItem } from '../catalogue/item.ts'
export { type Config, DEVELOPMENT_ENCRYPTION_KEY, loadConfig } from '../config/config.ts'
export { tooSlow } from '../edge/receive-body.ts'
export { COMMON_HEADERS, toRefusalAnswer } from '../edge/refusal-answer.ts'
export type { ServeRequest } from '../edge/server.ts'
export type { Admitted, Interference } from '../edge/signed/pipeline.ts'
export { INVARIANTS, SCHEMA, VERSION } from '../installation.ts'
export { fund } from '../ledger/transfer.ts'
export { createOperator, type Operator } from '../operations/operator.ts'
export { readRules, verifyData } from '../operations/verify.ts'
export { storeClosed } from '../orders/placing/place-order.ts'
export { overloaded } from '../platform/batching/load-shedding.ts'
export { type Db, openDatabase, type Queryable, sql, statement } from '../platform/database/db.ts'
export type { Keyring } from '../platform/encryption/encryption.ts'
export type { JobEnd } from '../platform/jobs/job-runner.ts'
export type { Job } from '../platform/jobs/jobs.ts'
export { createLog } from '../platform/observability/log.ts'
export {
  type GuardedClient,
  type GuardedClientOptions,
  guardedClients,
  type Sent,
} from '../platform/outbound/guarded-client.ts'
export { isPublicAddress } from '../platform/outbound/public-address.ts'
export { migrate } from '../platform/schema/migrate.ts'
export { newId } from '../platform/text/ids.ts'
export { Refusal, refuse, Unavailable } from '../platform/trouble.ts'
export type { ObtainFromSuppliers } from '../supply/obtain.ts'
export { secretBinding as webhookSecretBinding, setEndpoint, stopEndpoint } from '../webhooks/endpoint.ts'
export { checkWebhookUrl } from '../webhooks/url-rules.ts'
export { type Api, type ApiParts, createApi } from './api-program.ts'
export { createMetrics } from './metrics.ts'
export { openDatabaseFrom, openKeyringFrom } from './wiring.ts'
export { createWorker, type WorkerParts } from './worker-program.ts'
