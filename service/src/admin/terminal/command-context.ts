import type { EncryptionKeys, SettingDescription } from '../../config/config.ts'
import type { CheckResult } from '../../operations/doctor/doctor.ts'
import type { Operator } from '../../operations/operator.ts'
import type { OperatorReads } from '../../operations/reads/index.ts'
import type { Rule } from '../../operations/verify.ts'
import type { ListedMetric } from '../../platform/observability/metric-registry.ts'
import type { MigrationReport } from '../../platform/schema/migrate.ts'
import type { UpgradeCheck, UpgradeCheckOptions } from '../../platform/schema/upgrade-check.ts'
import type { Journal } from '../../supply/journal.ts'
import type { Terminal } from './terminal.ts'

/** What the commands need from the process; opened when a command first uses it. */
export interface CommandContext {
  readonly version: string
  /** Finds out who acts, and returns when their token expires; runs before every command that works on the database. */
  identify(actor: string | undefined): Promise<Date | undefined>
  /** For commands that change or reveal something. Refuses when the operator is unknown. */
  operator(): Operator
  /** The same for adding an operator, which an unknown user may do while there is none: then `isFirst`. */
  operatorOrFirst(): { readonly operator: Operator; readonly isFirst: boolean }
  /** For commands that only read. Needs no actor. */
  reads(): OperatorReads
  /** The same with a long statement timeout, for reads of whole tables. */
  longRunningReads(): OperatorReads
  migrate(report: (line: string) => void): Promise<MigrationReport>
  /** What `migrate` would do; reads only. */
  checkUpgrade(options: UpgradeCheckOptions): Promise<UpgradeCheck>
  /** Why the database does not fit this program; checked as its owner, if a login for that is given. */
  migrationStatus(): Promise<string | undefined>
  /** The same, on the connection that the commands work with. */
  schemaMismatch(): Promise<string | undefined>
  /** The invariants of the data. */
  rules(): Promise<Rule[]>
  /** Runs the production checklist. */
  doctor(): Promise<CheckResult[]>
  describeConfig(): Record<string, string>
  configReference(): SettingDescription[]
  /** Every metric of API and worker, and what to do when it moves. */
  metricsReference(): Promise<readonly ListedMetric[]>
  /** Whether to allow what production refuses, such as a supplier without TLS. */
  isDevelopment(): boolean
  /** The journal of sold links: in the given folder, or the configured one. Undefined when there is none. */
  journal(dir?: string): Journal | undefined
  /** The folder in which "shopwire backup" records its results. */
  backupState(): string
  /** Days until the certificate of the API's address expires; undefined when it has none. */
  certificateDays(): Promise<number | undefined>
  encryptionKeys(): EncryptionKeys
  /** Which of the configured keys are not those that the database was encrypted with. */
  wrongKeys(): Promise<ReadonlySet<string>>
  nowMs(): number
  pause(ms: number): Promise<void>
  /** Undefined when there is none. */
  readonly terminal?: Terminal | undefined
  out(text: string): void
  err(text: string): void
}
