import { setTimeout as sleep } from 'node:timers/promises'
import type { Admission } from '../access/admission.ts'
import { withMismatchCheck } from '../access/admission-in-use.ts'
import { runAdmin } from '../admin/program.ts'
import type { CommandContext } from '../admin/terminal/command-context.ts'
import { configReference, describeConfig, loadConfig, loadSchemaUrl } from '../config/config.ts'
import { INVARIANTS, SCHEMA, VERSION } from '../installation.ts'
import { currentLogin } from '../operations/actor.ts'
import { firstActorOf, NoIdentity, whoActs } from '../operations/identity.ts'
import { createOperator, type OperatorDeps } from '../operations/operator.ts'
import { findOperatorToken } from '../operations/operator-tokens.ts'
import { createReads } from '../operations/reads/index.ts'
import { readRules } from '../operations/verify.ts'
import { systemClock } from '../platform/clock.ts'
import {
  verifiedKeyring,
  verifyEncryptionKeys,
  wrongEncryptionKeys,
} from '../platform/encryption/key-checks.ts'
import { createLog } from '../platform/observability/log.ts'
import { migrate } from '../platform/schema/migrate.ts'
import { schemaMismatch, schemaMismatchAt } from '../platform/schema/schema-version.ts'
import { openJournalFrom } from './journal-wiring.ts'
import { networksOf, openAdmissionFrom, openDatabaseFrom, openKeyringFrom } from './wiring.ts'

/** Reading every row of a large store takes minutes, and no other work waits for it. */
const LONG_STATEMENT_MS = 3_600_000

const log = createLog('silent')
/** Runs one command line with the settings of this process and returns the exit code. Closes everything it opened. */
export async function runAdminProgram(
  argv: readonly string[],
  output: Pick<CommandContext, 'out' | 'err' | 'terminal'>,
): Promise<number> {
  const closing: (() => Promise<void>)[] = []

  const config = once(() => loadConfig())
  const isDevelopment = () => config().SHOPWIRE_ENV === 'development'
  const deps = once((): OperatorDeps => {
    const db = openDatabaseFrom(config(), 'shopwire-admin', log)
    closing.push(() => db.close())
    const admission = once(async (): Promise<Admission> => {
      const opened = await openAdmissionFrom(config(), db, log)
      closing.unshift(() => opened.close())
      return withMismatchCheck(opened, db, config().SHOPWIRE_ADMISSION)
    })
    return {
      db,
      keyring: checkedKeyring(),
      clock: systemClock,
      cell: config().SHOPWIRE_CELL,
      journal: journal(),
      admission,
      dashboardOrigin: config().SHOPWIRE_DASHBOARD_ORIGIN,
      payments: async () => (await import('./money-wiring.ts')).cardPaymentsOf(config()),
      // Loaded only when needed: one command calls a supplier.
      fetch: async (...asked: Parameters<typeof fetch>) => {
        const { operatorFetch } = await import('../platform/outbound/operator-fetch.ts')
        return operatorFetch(config().SHOPWIRE_EGRESS_PROXY, networksOf(config()))(...asked)
      },
    }
  })

  const openJournal = (dir: string | undefined) => {
    const opened = openJournalFrom({ SHOPWIRE_JOURNAL: dir }, () => {})
    if (opened) closing.unshift(() => opened.close())
    return opened
  }
  const journal = once(() => openJournal(config().SHOPWIRE_JOURNAL))

  /** Verified over a separate connection: the caller that seals may hold the only other one. */
  const checkedKeyring = () => {
    const keyring = openKeyringFrom(config())
    return verifiedKeyring(keyring, () => verifyEncryptionKeys(longRunningDb(), keyring))
  }

  const longRunningDb = once(() => {
    const settings = { ...config(), SHOPWIRE_DATABASE_STATEMENT_MS: LONG_STATEMENT_MS }
    const db = openDatabaseFrom(settings, 'shopwire-admin', log)
    closing.push(() => db.close())
    return db
  })

  /** Set by `identify`. */
  let named: string | undefined
  let actor = (): string => {
    throw new Error('the operator was not identified before the command ran')
  }

  const code = await runAdmin(
    {
      version: VERSION,
      reads: () => createReads(deps().db),
      longRunningReads: () => createReads(longRunningDb()),
      async identify(given) {
        named = given ?? config().SHOPWIRE_ACTOR
        let tokenEndsAt: Date | undefined
        actor = await whoActs(config(), {
          login: currentLogin(),
          given,
          async emailOfToken(token) {
            const found = await findOperatorToken(deps().db, token, systemClock.nowMs())
            tokenEndsAt = found?.expires_at
            return found?.email
          },
        })
        return tokenEndsAt
      },
      operator: () => createOperator(deps(), actor()),
      operatorOrFirst() {
        try {
          return { operator: createOperator(deps(), actor()), isFirst: false }
        } catch (error) {
          if (!(error instanceof NoIdentity)) throw error
          return { operator: createOperator(deps(), firstActorOf(named, currentLogin())), isFirst: true }
        }
      },
      migrate: (report) => migrate(loadSchemaUrl('migrate'), SCHEMA, report),
      // Loaded only when needed.
      checkUpgrade: async (options) =>
        (await import('../platform/schema/upgrade-check.ts')).checkUpgrade(
          loadSchemaUrl('look'),
          SCHEMA,
          options,
        ),
      migrationStatus: () => schemaMismatchAt(loadSchemaUrl('look'), SCHEMA),
      schemaMismatch: () =>
        schemaMismatch((text) => deps().db.many({ text, values: [], name: 'schema_version' }), SCHEMA),
      rules: () => readRules(INVARIANTS),
      // Loaded only when needed, like the metrics.
      doctor: async () => (await import('./doctor-wiring.ts')).runDoctor(),
      describeConfig: () => describeConfig(config()),
      configReference,
      // Loaded only when needed: most commands have no metrics.
      metricsReference: async () => (await import('./metrics.ts')).describeMetrics(),
      isDevelopment,
      journal: (dir) => (dir === undefined ? journal() : openJournal(dir)),
      backupState: () => config().SHOPWIRE_BACKUP_STATE,
      certificateDays: async () =>
        (await import('./doctor-wiring.ts')).certificateDays(config(), systemClock.nowMs),
      wrongKeys: () => wrongEncryptionKeys(deps().db, openKeyringFrom(config())),
      encryptionKeys: () => config().encryption,
      nowMs: systemClock.nowMs,
      pause: (ms) => sleep(ms),
      ...output,
    },
    argv,
  )
  for (const close of closing) await close()
  return code
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
