import { type ViewList, viewFilters } from '@shopwire/contract/dashboard'
import { Ajv } from 'ajv'
import { refuse } from '../../platform/trouble.ts'

const ajv = new Ajv({ strict: true })

/**
 * Reads the filters of an address and writes them again in one form: the names that the list has, in its order, each with a value that it
 * takes. So nothing else gets into a saved view: no page, no open row, no place that another address could hide in.
 */
export function readViewQuery(list: ViewList, query: string): string {
  const { properties }: { properties: Readonly<Record<string, object>> } = viewFilters[list]
  const given = new URLSearchParams(query)
  for (const [name, value] of given) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!schema)
      throw refuse('invalid_request', `${shown(name)} is not a filter of this list. Set the filters again.`)
    if (given.getAll(name).length > 1)
      throw refuse('invalid_request', `The filter ${name} is there twice. Set the filters again.`)
    if (!ajv.validate(schema, value))
      throw refuse('invalid_request', `The filter ${name} cannot be ${shown(value)}. Set it again.`)
  }
  const kept = Object.keys(properties).flatMap((name): [string, string][] => {
    const value = given.get(name)
    return value === null ? [] : [[name, value]]
  })
  if (kept.length === 0)
    throw refuse('invalid_request', 'There is nothing to save: no filter is set. Set one first.')
  return String(new URLSearchParams(kept))
}

const SHOWN_LENGTH_MAX = 40

const shown = (text: string) =>
  JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text)
