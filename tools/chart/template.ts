import { isTruthy, type TemplateFunction, textOf } from './template-functions.ts'
import { type Expression, type Node, parseTemplate } from './template-syntax.ts'

export interface Templates {
  /** Executes the template of this name. */
  execute(name: string, data: unknown): string
}

type Variables = Map<string, { value: unknown }>

/**
 * Renders templates as Go's text/template does, for the part of the language that the chart uses; an unknown function or a field of nothing is
 * an error. Numbers of values are JavaScript numbers (Go: float64), those of templates are bigints (Go: int64).
 */
export function loadTemplates(
  sources: Readonly<Record<string, string>>,
  functions: Readonly<Record<string, TemplateFunction>>,
): Templates {
  const defined = new Map<string, readonly Node[]>()
  for (const [name, source] of Object.entries(sources)) {
    try {
      defined.set(name, parseTemplate(source, defined))
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error })
    }
  }
  const all: Readonly<Record<string, TemplateFunction>> = {
    ...functions,
    include: (name, data) => execute(String(name), data),
  }

  function execute(name: string, data: unknown): string {
    const nodes = defined.get(name)
    if (nodes === undefined) throw new Error(`no template is called "${name}"`)
    return print(nodes, data, new Map([['', { value: data }]]))
  }

  /** Variables are visible in their block and in those inside it. */
  function print(nodes: readonly Node[], dot: unknown, outer: Variables): string {
    const variables: Variables = new Map(outer)
    return nodes.map((node) => printNode(node, dot, variables)).join('')
  }

  function printNode(node: Node, dot: unknown, variables: Variables): string {
    if (node.kind === 'text') return node.text
    const value = evaluate(node.value, dot, variables)
    switch (node.kind) {
      case 'print':
        return textOf(value)
      case 'assign': {
        const known = variables.get(node.name)
        if (node.isNew) variables.set(node.name, { value })
        else if (known) known.value = value
        else throw new Error(`$${node.name} is assigned before it is declared`)
        return ''
      }
      case 'range':
        return entriesOf(value)
          .map(([key, item]) => {
            const inner: Variables = new Map(variables)
            const [first, second] = node.names
            if (second !== undefined) inner.set(second, { value: item })
            if (first !== undefined) inner.set(first, { value: second === undefined ? item : key })
            return print(node.body, item, inner)
          })
          .join('')
      default:
        if (isTruthy(value)) return print(node.body, node.kind === 'with' ? value : dot, variables)
        return print(node.otherwise, dot, variables)
    }
  }

  function evaluate(expression: Expression, dot: unknown, variables: Variables): unknown {
    if (expression.kind === 'literal') return expression.value
    if (expression.kind === 'path') return fieldOf(expression, dot, variables)
    const { target, args } = expression
    if (target === 'and' || target === 'or') {
      let value: unknown
      for (const arg of args) {
        value = evaluate(arg, dot, variables)
        if (isTruthy(value) === (target === 'or')) break
      }
      return value
    }
    const call = typeof target === 'string' ? all[target] : evaluate(target, dot, variables)
    if (typeof call !== 'function')
      throw new Error(`no function "${typeof target === 'string' ? target : '…'}"`)
    return call(...args.map((arg) => evaluate(arg, dot, variables)))
  }

  function fieldOf(
    { start, fields }: Extract<Expression, { kind: 'path' }>,
    dot: unknown,
    variables: Variables,
  ) {
    let value: unknown = dot
    if (start !== 'dot' && 'inner' in start) value = evaluate(start.inner, dot, variables)
    else if (start !== 'dot') {
      const variable = variables.get(start.variable)
      if (variable === undefined) throw new Error(`no variable $${start.variable}`)
      value = variable.value
    }
    for (const field of fields) {
      if (typeof value !== 'object' || value === null) throw new Error(`.${field} of nothing`)
      value = (value as Record<string, unknown>)[field]
    }
    return value
  }

  return { execute }
}

/** Maps in the order of their keys, as in Go. */
function entriesOf(value: unknown): [unknown, unknown][] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) return value.map((item, n) => [BigInt(n), item])
  if (typeof value !== 'object') throw new Error(`range over ${typeof value}`)
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}
