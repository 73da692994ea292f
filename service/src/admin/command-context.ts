import type { EncryptionKeys } from '../config.ts'
import type { Operator } from '../operations/operator.ts'
import type { OperatorReads } from '../operations/reads.ts'
import type { Rule } from '../operations/verify.ts'
import type { MigrationReport } from '../platform/migrate.ts'

/** What the commands need from the process around them; opened only when a command asks for it. */
export interface CommandContext {
  /** For whatever changes or reveals something. Refuses when nobody can be named as the one who acts. */
  operator(actor?: string): Operator
  /** For whatever only looks. Nobody has to be named for it. */
  reads(): OperatorReads
  /** The same, for reads of whole tables: the database is given much more time for a statement. */
  patientReads(): OperatorReads
  migrate(report: (line: string) => void): Promise<MigrationReport>
  /** Why the database does not fit this program; asked as its owner where one is given. */
  migrationStatus(): Promise<string | undefined>
  /** The same, on the connection that the commands work with. */
  schemaMismatch(): Promise<string | undefined>
  /** What must hold of the data. */
  rules(): Promise<Rule[]>
  describeConfig(): Record<string, string>
  configReference(): { name: string; default: string; meaning: string; secret: boolean }[]
  /** Whether what production refuses is let through, such as a supplier without TLS. */
  isDevelopment(): boolean
  encryptionKeys(): EncryptionKeys
  nowMs(): number
  pause(ms: number): Promise<void>
  out(text: string): void
  err(text: string): void
}
