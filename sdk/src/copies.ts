/** The same in every copy of the package. */
const NAME = Symbol.for('@shopwire/sdk/class')

type AnyClass = abstract new (...args: never[]) => object

/**
 * Makes `instanceof` recognise instances of the same class from another copy of the package: a process may load it both as ES
 * module and as CommonJS, and otherwise an error of one would not be an error of the other.
 */
export function recogniseCopies(classes: Readonly<Record<string, AnyClass>>): void {
  for (const [name, one] of Object.entries(classes)) {
    Object.defineProperty(one, NAME, { value: name })
    Object.defineProperty(one, Symbol.hasInstance, { value: hasInstance })
  }
}

function hasInstance(this: AnyClass, value: unknown): boolean {
  const wanted = nameOf(this)
  // A subclass of a caller has no name here, and inherits this function.
  if (wanted === undefined) return Function.prototype[Symbol.hasInstance].call(this, value)
  if (typeof value !== 'object' || value === null) return false
  for (
    let made: unknown = value.constructor;
    typeof made === 'function';
    made = Object.getPrototypeOf(made)
  ) {
    if (nameOf(made) === wanted) return true
  }
  return false
}

function nameOf(one: object): unknown {
  return Object.hasOwn(one, NAME) ? (one as { [NAME]?: unknown })[NAME] : undefined
}
