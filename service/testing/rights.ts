import { readFileSync } from 'node:fs'
import { parseRights, type Rights } from '../src/platform/schema/rights.ts'
import { SCHEMA } from '../src/programs/wiring.ts'

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
