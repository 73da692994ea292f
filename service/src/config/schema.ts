import { z } from 'zod'
import { admissionProblems, admissionSettings } from './areas/admission.ts'
import { apiProblems, apiSettings } from './areas/api.ts'
import { backupSettings } from './areas/backup.ts'
import { dashboardProblems, dashboardSettings } from './areas/dashboard.ts'
import { databaseProblems, databaseSettings } from './areas/database.ts'
import { type EncryptionKeys, encryptionProblems, encryptionSettings } from './areas/encryption.ts'
import { moneyProblems, moneySettings } from './areas/money.ts'
import { operatorSettings } from './areas/operators.ts'
import { outboundProblems, outboundSettings } from './areas/outbound.ts'
import { processSettings } from './areas/process.ts'
import { tracingSettings } from './areas/tracing.ts'
import { workerProblems, workerSettings } from './areas/worker.ts'
import { transportProblems } from './transport.ts'
import { type Given, isDevelopment, isSecret } from './values.ts'

/** Every setting; each area has a file in areas/. */
export const schema = z.object({
  ...processSettings,
  ...databaseSettings,
  ...encryptionSettings,
  ...apiSettings,
  ...admissionSettings,
  ...workerSettings,
  ...dashboardSettings,
  ...moneySettings,
  ...outboundSettings,
  ...tracingSettings,
  ...backupSettings,
  ...operatorSettings,
})

export type Config = z.infer<typeof schema> & { readonly encryption: EncryptionKeys }

/** What the dashboard's process needs; it works without the application's login. */
export type DashboardConfig = Omit<Config, 'SHOPWIRE_DATABASE_URL'> & {
  readonly SHOPWIRE_DASHBOARD_ORIGIN: string
  readonly SHOPWIRE_DASHBOARD_DATABASE_URL: string
}

/** What a process needs that is API, worker and, if it has an origin, dashboard at once: a login for each. */
export type AllConfig = Config & { readonly SHOPWIRE_WORKER_DATABASE_URL: string }

export const settingNames: readonly string[] = Object.keys(schema.shape)

export function isSecretSetting(name: string): boolean {
  const setting = (schema.shape as Readonly<Record<string, z.ZodType>>)[name]
  return setting !== undefined && isSecret(setting)
}

/** Conflicts between settings that are valid individually. */
export function problemsTogether(given: Given): string[] {
  return [
    ...admissionProblems(given),
    ...outboundProblems(given),
    ...transportProblems(given, !isDevelopment(given)),
    ...workerProblems(given),
    ...moneyProblems(given),
    ...apiProblems(given),
    ...dashboardProblems(given),
    ...databaseProblems(given),
    ...encryptionProblems(given),
  ]
}
