import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { editDistance } from '../platform/text/edit-distance.ts'
import { isServiceLink, OTHER_SETTINGS } from './other-settings.ts'
import { isSecretSetting, settingNames } from './schema.ts'
import type { Given } from './values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const TYPO_EDITS_MAX = 2

/** The values of these settings; every variable may be given as NAME_FILE instead, the path of a file that contains it. */
export function readVariables(env: Environment, names: readonly string[], problems: string[]) {
  const given: Record<string, string> = {}
  for (const name of names) {
    const direct = env[name]
    const path = env[`${name}_FILE`]
    if (direct !== undefined && path !== undefined) {
      problems.push(`${name} and ${name}_FILE are both set: keep one of them`)
    } else if (path !== undefined) {
      try {
        given[name] = readFileSync(path, 'utf8').trimEnd()
      } catch (error) {
        problems.push(
          `${name}_FILE cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
        )
      }
    } else if (direct !== undefined && direct !== '') {
      given[name] = direct
    }
  }
  problems.push(...unknownNames(env, (given.SHOPWIRE_ENV ?? 'production') === 'production'))
  return given
}

/**
 * A misspelt name would silently leave its setting at the default: no limit, no proxy, no TLS. Production refuses every unknown
 * name with our prefix; development, where other programs may use the prefix, only names that resemble one of ours.
 */
function unknownNames(env: Environment, isProduction: boolean): string[] {
  return Object.keys(env).flatMap((name) => {
    const bare = name.replace(/_FILE$/, '')
    if (!name.startsWith('SHOPWIRE_') || settingNames.includes(bare) || OTHER_SETTINGS.has(bare)) return []
    if (isServiceLink(name, env)) return []
    const meant = settingNames.find((known) => editDistance(bare, known) <= TYPO_EDITS_MAX)
    if (meant) return [`${name} is not a setting: did you mean ${meant}?`]
    if (!isProduction) return []
    return [`${name} is not a setting: correct or unset it ("shopwire-admin config --reference" lists all)`]
  })
}

export function describeIssue(issue: z.core.$ZodIssue, given: Given): string {
  const name = String(issue.path[0])
  if (given[name] === undefined) return `${name} is required`
  const shown = isSecretSetting(name) ? '' : ` (is "${given[name]}")`
  const fromKubernetes = given[name]?.startsWith('tcp://') && name.endsWith('_PORT')
  const hint = fromKubernetes
    ? '; Kubernetes sets this for a Service named "shopwire": set enableServiceLinks: false for the pod, or rename the Service'
    : ''
  return `${name}: ${issue.message}${shown}${hint}`
}
