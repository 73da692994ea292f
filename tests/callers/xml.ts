export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

const NAME = '[A-Za-z_][\\w.-]*'
const ATTRIBUTE = `\\s+(${NAME})="([^"<]*)"`
const TOKEN = new RegExp(`<\\?xml[^>]*\\?>|<(/?)(${NAME})((?:${ATTRIBUTE})*)\\s*(/?)>|([^<]+)`, 'y')

/** Every element of a document, outer ones first. Throws unless the document is well-formed, as far as we write XML. */
export function readXml(text: string): XmlElement[] {
  const elements: XmlElement[] = []
  const open: string[] = []
  for (let at = 0; at < text.length; ) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)
    if (!token) throw new Error(`not well-formed at ${at}: ${text.slice(at, at + 60)}`)
    at = TOKEN.lastIndex
    const [, isClosing, name, attributes = '', , , isEmpty, words] = token
    if (words !== undefined) {
      requireEntities(words)
      if (words.trim() !== '' && open.length === 0)
        throw new Error(`words outside of every element: ${words}`)
      continue
    }
    if (name === undefined) continue
    if (isClosing) {
      if (open.pop() !== name) throw new Error(`</${name}> closes what is not open`)
      continue
    }
    if (open.length === 0 && elements.length > 0) throw new Error(`<${name}> is a second root`)
    elements.push({ name, attributes: readAttributes(attributes) })
    if (!isEmpty) open.push(name)
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)}> is not closed`)
  return elements
}

function readAttributes(text: string): Record<string, string> {
  const pairs = [...text.matchAll(new RegExp(ATTRIBUTE, 'g'))].map(([, name = '', value = '']) => {
    requireEntities(value)
    return [name, decoded(value)] as const
  })
  return Object.fromEntries(pairs)
}

function requireEntities(text: string): void {
  if (/&(?!(amp|lt|gt|quot|apos|#\d+);)/.test(text)) throw new Error(`a bare ampersand: ${text}`)
}

function decoded(text: string): string {
  const known: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
  return text.replace(
    /&(#?\w+);/g,
    (_, name: string) => known[name] ?? String.fromCodePoint(Number(name.slice(1))),
  )
}
