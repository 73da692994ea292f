import { type SchemaName, schemas } from '../resources.ts'
import { AbsoluteUri, DateTime } from '../shapes.ts'
import { examples } from './examples.ts'
import { schemaTexts } from './texts.ts'

export type Json = { readonly [name: string]: unknown }

/** Queries are published as parameters, so they are not components. */
const asParameters: ReadonlySet<SchemaName> = new Set(['CatalogueQuery', 'OrdersQuery'])

const names = new Map<unknown, SchemaName>(
  (Object.keys(schemas) as SchemaName[]).map((name) => [schemas[name], name]),
)

/** Every schema once, with descriptions and an example; nested schemas are references. */
export function schemaComponents(): Json {
  const published = [...names].filter(([, name]) => !asParameters.has(name))
  return Object.fromEntries(published.map(([schema, name]) => [name, describe(schema as Json, name)]))
}

export function schemaRef(schema: unknown): Json {
  const name = names.get(schema)
  if (name === undefined) throw new Error('a route uses a schema that is not among the published ones')
  return { $ref: `#/components/schemas/${name}` }
}

export function nameOf(schema: unknown): SchemaName {
  return String(schemaRef(schema).$ref).slice('#/components/schemas/'.length) as SchemaName
}

export function parametersOf(query: unknown): Json[] {
  const { fields } = schemaTexts[nameOf(query)] as { fields: Record<string, string> }
  const { properties } = query as { properties: Json }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    description: fields[name],
    schema: publish(schema),
  }))
}

function describe(schema: Json, name: SchemaName): Json {
  const { about, fields } = schemaTexts[name] as { about: string; fields: Record<string, string> }
  const { properties } = schema as { properties?: Json }
  return {
    description: about,
    ...publishMembers(schema),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([field, value]) => [
          field,
          { description: fields[field], ...publish(value) },
        ]),
      ),
    }),
    ...(name === 'WebhookEvent' ? { discriminator: discriminator() } : {}),
    examples: [examples[name]],
  }
}

/** Rewrites the schema into keywords that OpenAPI tools support well. It accepts the same values, which a test checks. */
function publish(schema: unknown): Json {
  if (names.has(schema)) return schemaRef(schema)
  if (schema === DateTime) return { ...DateTime, format: 'date-time' }
  if (schema === AbsoluteUri) return { ...AbsoluteUri, format: 'uri' }
  const [value, nothing, ...more] = (schema as { anyOf?: Json[] }).anyOf ?? []
  // An enum or a constant would still refuse null, so only a plain string becomes "a string or null".
  const isPlain = value?.type === 'string' && !('enum' in value) && !('const' in value)
  if (isPlain && nothing?.type === 'null' && more.length === 0) {
    return { ...publish(value), type: ['string', 'null'] }
  }
  return publishMembers(schema as Json)
}

function publishMembers(schema: Json): Json {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'items') return [keyword, publish(value)]
      if (keyword === 'anyOf') return [keyword, (value as unknown[]).map(publish)]
      if (keyword !== 'properties') return [keyword, value]
      return [
        keyword,
        Object.fromEntries(Object.entries(value as Json).map(([name, one]) => [name, publish(one)])),
      ]
    }),
  )
}

function discriminator(): Json {
  const events = schemas.WebhookEvent.anyOf.map((one) => [one.properties.event.const, schemaRef(one).$ref])
  return { propertyName: 'event', mapping: Object.fromEntries(events) }
}
