import { Ajv, type ValidateFunction } from 'ajv'
import { type SchemaName, schemas } from '../src/index.ts'

/** The options the service must use: nothing is coerced, dropped or filled in, and an unknown keyword is an error. */
export const ajv = new Ajv({ strict: true, allErrors: false, coerceTypes: false, removeAdditional: false })

export const validator = (name: SchemaName): ValidateFunction => ajv.compile(schemas[name])
