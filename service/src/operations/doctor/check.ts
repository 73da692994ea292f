import type { RedisFacts } from '../../access/redis-facts.ts'
import type { Config } from '../../config/config.ts'
import type { DatabaseFacts } from './database-facts.ts'
import type { MachineFacts } from './machine-facts.ts'
import type { StoreData } from './store-data.ts'

export type CheckState = 'ok' | 'warning' | 'failed' | 'not_applicable'

export const GROUPS = [
  'Settings',
  'Machine',
  'PostgreSQL',
  'Redis',
  'Encryption and secrets',
  'Network',
  'Store',
] as const

/** One item of the production checklist. docs/self-hosting/checklist.md lists their titles. */
export interface Check {
  readonly id: string
  readonly group: (typeof GROUPS)[number]
  /** The condition that has to hold. */
  readonly title: string
  readonly why: string
  /** A command or a setting. */
  readonly fix: string
  examine(about: Installation): Outcome | Promise<Outcome>
}

export interface Outcome {
  readonly state: CheckState
  /** Never a secret, nor a URL that contains one. */
  readonly found: string
}

/** The input of the checks. Each part is read once, when a check first needs it. */
export interface Installation {
  /** Mistakes in the settings; with any of them there is no configuration. */
  readonly settingsProblems: readonly string[]
  config(): Config
  /** Files that hold a setting (NAME_FILE). */
  readonly settingFiles: readonly { readonly name: string; readonly path: string }[]
  machine(): MachineFacts
  database(): Promise<DatabaseFacts>
  store(): Promise<StoreData>
  /** Why the database does not fit this program. */
  schemaMismatch(): Promise<string | undefined>
  redis(): Promise<RedisFacts>
  /** Fails when a configured key is not the one that the database was used with. */
  compareKeys(): Promise<void>
  /** Days until the certificate of this https:// URL expires. */
  certificateDaysLeft(url: URL): Promise<number>
  /** The status of the response to a GET. */
  statusOf(url: string): Promise<number>
  /** The JSON in it. */
  jsonOf(url: string): Promise<unknown>
  /** Signs in to the mail server and sends nothing. */
  tryMail(url: string): Promise<void>
}

/** A check has no result, because something is missing that another check reports. */
export class NotKnown extends Error {
  override readonly name = 'NotKnown'
}

export const ok = (found: string): Outcome => ({ state: 'ok', found })
export const warning = (found: string): Outcome => ({ state: 'warning', found })
export const failed = (found: string): Outcome => ({ state: 'failed', found })
export const notApplicable = (found: string): Outcome => ({ state: 'not_applicable', found })

/** A code if there is one: messages of libraries may contain an address with its password. */
export function reasonOf(error: unknown): string {
  const { code, cause, message } = error as { code?: string; cause?: { code?: string }; message: string }
  return code ?? cause?.code ?? message
}
