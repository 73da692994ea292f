import { isAbsolute } from 'node:path'
import { z } from 'zod'

/** The environment, each value as it was given. */
export type Given = Readonly<Record<string, string>>

const secrets = z.registry<Record<never, never>>()

/** A setting that no log line, error or description may show. */
export function secret<Setting extends z.ZodType>(setting: Setting): Setting {
  secrets.add(setting, {})
  return setting
}

export function isSecret(setting: z.ZodType): boolean {
  return secrets.has(setting)
}

export function isDevelopment(given: Given): boolean {
  return given.SHOPWIRE_ENV === 'development'
}

export const port = z.coerce.number().int().min(0).max(65_535)
export const milliseconds = z.coerce.number().int().min(0).max(600_000)
export const flag = (fallback: 'true' | 'false') =>
  z
    .enum(['true', 'false'])
    .default(fallback)
    .transform((value) => value === 'true')
export const folder = z.string().refine(isAbsolute, 'must be the absolute path of a folder')
export const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
