import Type, { type TProperties, type TSchema } from 'typebox'

// Basic schemas that the resources are built from. No `format` keyword anywhere: Ajv supports none without a plugin,
// and the service sends a narrower form than RFC 3339 and RFC 3986 allow.

/** An object with these properties and no others. */
export const closed = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false })

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** UTC, three digits of milliseconds, `Z`: what `Date.prototype.toISOString` writes for the years 0000 to 9999. */
export const DateTime = Type.String({
  pattern:
    '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z$',
})

export const AbsoluteUri = Type.String({ pattern: '^[A-Za-z][A-Za-z0-9+.-]*:[^\\s]+$' })

export const Cents = Type.Integer({ minimum: 0 })

export const Count = Type.Integer({ minimum: 0 })

/** One to `most` ids in one text, with commas between them, for a query. `pattern` is that of one id. */
export const idsText = (pattern: string, most: number) => {
  const id = pattern.replace(/^\^|\$$/g, '')
  return Type.String({ pattern: `^${id}(,${id}){0,${most - 1}}$` })
}

export const Currency = Type.Literal('USD')
