import { createRequire } from 'node:module'

/** Found from here: in a package everything is bundled into one folder beside `package.json` and `schema/`, as this file is. */
export const VERSION = (createRequire(import.meta.url)('../package.json') as { version: string }).version
export const SCHEMA = new URL('../schema/', import.meta.url)
export const INVARIANTS = new URL('invariants/', SCHEMA)
