import { readFileSync } from 'node:fs'
import { SCHEMA } from '../src/installation.ts'
import { parseRights, type Rights } from '../src/platform/schema/rights.ts'

export const ROLES = [
  'api',
  'worker',
  'operator',
  'dashboard',
  'readonly',
  'functions',
  'maintenance',
] as const
export type RoleName = (typeof ROLES)[number]

/** What a role may do, from service/schema/rights. */
export function readRights(role: RoleName): Rights {
  const name = `${role}.txt`
  return parseRights(name, readFileSync(new URL(`rights/${name}`, SCHEMA), 'utf8'))
}
