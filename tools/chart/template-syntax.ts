/**
 * The part of Go's text/template syntax that the chart uses, as a tree. Whatever else a template contains is an error, so that a chart
 * which this renders and Helm does not, or the other way round, is noticed here.
 */
export type Expression =
  | { readonly kind: 'literal'; readonly value: unknown }
  /** `.a.b`, `$name.a` or `(…).a`: a start and the fields behind it. */
  | { readonly kind: 'path'; readonly start: Start; readonly fields: readonly string[] }
  | { readonly kind: 'call'; readonly target: string | Expression; readonly args: readonly Expression[] }

type Start = { readonly variable: string } | { readonly inner: Expression } | 'dot'

export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly value: Expression }
  | { readonly kind: 'assign'; readonly name: string; readonly value: Expression; readonly isNew: boolean }
  | {
      readonly kind: 'if' | 'with'
      readonly value: Expression
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[]
    }
  | {
      readonly kind: 'range'
      readonly names: readonly string[]
      readonly value: Expression
      readonly body: readonly Node[]
    }

interface Piece {
  readonly text: string
  readonly isAction: boolean
}

/** Adds what `define` names to `defined`, and returns the rest. */
export function parseTemplate(source: string, defined: Map<string, readonly Node[]>): readonly Node[] {
  const pieces = split(source)
  let next = 0

  /** Up to an `end` or `else`, which is returned too; undefined at the end of the file. */
  function parseBody(): { nodes: Node[]; closing: string | undefined } {
    const nodes: Node[] = []
    for (;;) {
      const piece = pieces[next++]
      if (piece === undefined) return { nodes, closing: undefined }
      if (!piece.isAction) {
        if (piece.text !== '') nodes.push({ kind: 'text', text: piece.text })
        continue
      }
      const [, word = '', rest = ''] = /^(\w*)\s*([\s\S]*)$/.exec(piece.text) ?? []
      if (piece.text.startsWith('/*')) continue
      if (word === 'end' || word === 'else') return { nodes, closing: piece.text }
      if (word === 'define') defined.set(JSON.parse(rest) as string, parseBlock())
      else if (word === 'if' || word === 'with') nodes.push(parseCondition(word, rest))
      else if (word === 'range') nodes.push(parseRange(rest))
      else nodes.push(parseAction(piece.text))
    }
  }

  function parseBlock(): Node[] {
    const { nodes, closing } = parseBody()
    if (closing !== 'end') throw new Error(`expected {{ end }}, found ${closing ?? 'the end of the file'}`)
    return nodes
  }

  function parseCondition(kind: 'if' | 'with', text: string): Node {
    const value = parsePipeline(text)
    const { nodes: body, closing } = parseBody()
    if (closing === 'end') return { kind, value, body, otherwise: [] }
    if (closing === 'else') return { kind, value, body, otherwise: parseBlock() }
    const [, condition] = /^else if\s+([\s\S]*)$/.exec(closing ?? '') ?? []
    if (condition === undefined) throw new Error(`${kind} ${text}: no {{ end }}`)
    return { kind, value, body, otherwise: [parseCondition('if', condition)] }
  }

  function parseRange(text: string): Node {
    const [, names = '', list = text] = /^((?:\$\w+\s*,\s*)?\$\w+)\s*:=\s*([\s\S]*)$/.exec(text) ?? []
    const value = parsePipeline(list)
    return { kind: 'range', names: names.match(/\w+/g) ?? [], value, body: parseBlock() }
  }

  const { nodes, closing } = parseBody()
  if (closing !== undefined) throw new Error(`{{ ${closing} }} closes nothing`)
  return nodes
}

function parseAction(text: string): Node {
  const [, name, operator, value = text] = /^\$(\w+)\s*(:?=)\s*([\s\S]*)$/.exec(text) ?? []
  if (name === undefined) return { kind: 'print', value: parsePipeline(value) }
  return { kind: 'assign', name, value: parsePipeline(value), isNew: operator === ':=' }
}

/** `{{-` and `-}}` remove the white space beside them. */
function split(source: string): Piece[] {
  const pieces: Piece[] = []
  const action = /\{\{(-\s)?\s*(\/\*[\s\S]*?\*\/|(?:"(?:[^"\\]|\\.)*"|[^"}]|\}(?!\}))*?)\s*(\s-)?\}\}/g
  let from = 0
  let trims = false
  const addText = (text: string, trimsEnd: boolean) => {
    const begun = trims ? text.trimStart() : text
    pieces.push({ text: trimsEnd ? begun.trimEnd() : begun, isAction: false })
  }
  for (const found of source.matchAll(action)) {
    const [whole, before, text = '', after] = found
    addText(source.slice(from, found.index), before !== undefined)
    pieces.push({ text, isAction: true })
    trims = after !== undefined
    from = found.index + whole.length
  }
  addText(source.slice(from), false)
  const broken = pieces.find((piece) => !piece.isAction && piece.text.includes('{{'))
  if (broken) throw new Error(`an action that is not understood: ${broken.text.slice(0, 80)}`)
  return pieces
}

const TOKEN =
  /\s+|(?<string>"(?:[^"\\]|\\.)*")|(?<number>-?\d+)|(?<path>\$\w*(?:\.\w+)*|(?:\.\w+)+|\.)|(?<word>[a-zA-Z]\w*)|(?<mark>[()|])/y

function parsePipeline(text: string): Expression {
  const tokens = tokenize(text)
  let next = 0

  function pipeline(): Expression {
    let value = command()
    while (tokens[next]?.text === '|') {
      next += 1
      const stage = command()
      if (stage.kind !== 'call') throw new Error(`${text}: what follows | is not a function`)
      value = { ...stage, args: [...stage.args, value] }
    }
    return value
  }

  function command(): Expression {
    const first = operand()
    const args: Expression[] = []
    while (next < tokens.length && !['|', ')'].includes(tokens[next]?.text ?? '')) args.push(operand())
    if (first.kind === 'call' && first.args.length === 0 && typeof first.target === 'string')
      return { ...first, args }
    return args.length === 0 ? first : { kind: 'call', target: first, args }
  }

  function operand(): Expression {
    const token = tokens[next++]
    if (token === undefined) throw new Error(`"${text}" ends too early`)
    if (token.kind === 'string') return { kind: 'literal', value: JSON.parse(token.text) }
    if (token.kind === 'number') return { kind: 'literal', value: BigInt(token.text) }
    if (token.kind === 'path') return path(token.text)
    if (token.kind === 'word') {
      if (token.text in LITERALS) return { kind: 'literal', value: LITERALS[token.text] }
      return { kind: 'call', target: token.text, args: [] }
    }
    if (token.text !== '(') throw new Error(`"${text}": ${token.text} is not expected here`)
    const inner = pipeline()
    if (tokens[next++]?.text !== ')') throw new Error(`"${text}": a bracket is not closed`)
    const behind = tokens[next]
    // A grouped value: its fields follow the bracket without a space.
    const fields = behind?.kind === 'path' && behind.isAttached ? behind.text.slice(1).split('.') : []
    if (fields.length > 0) next += 1
    return { kind: 'path', start: { inner }, fields }
  }

  const value = pipeline()
  if (next < tokens.length) throw new Error(`"${text}": ${tokens[next]?.text} is not expected here`)
  return value
}

const LITERALS: Readonly<Record<string, unknown>> = { true: true, false: false, nil: null }

function path(text: string): Expression {
  const [first = '', ...fields] = text.split('.')
  if (first.startsWith('$')) return { kind: 'path', start: { variable: first.slice(1) }, fields }
  return { kind: 'path', start: 'dot', fields: fields.filter((field) => field !== '') }
}

interface Token {
  readonly kind: string
  readonly text: string
  readonly isAttached: boolean
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  let isAttached = false
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const groups = TOKEN.exec(text)?.groups
    if (groups === undefined) throw new Error(`"${text}": not understood from "${text.slice(at)}"`)
    const [kind, found] = Object.entries(groups).find(([, value]) => value !== undefined) ?? []
    if (kind !== undefined && found !== undefined) tokens.push({ kind, text: found, isAttached })
    isAttached = found === ')'
  }
  return tokens
}
