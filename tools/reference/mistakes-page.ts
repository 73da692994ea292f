import { MISTAKES, type Mistake } from '@shopwire/contract/signature-mistakes'
import { madeFrom, wrapped } from './markdown.ts'

/** In the order of the canonical text. What a kind is about is the first word of its name. */
const SECTIONS: readonly (readonly [title: string, prefixes: readonly string[]])[] = [
  ['Path and query', ['path', 'query']],
  ['Method, timestamp, nonce', ['method', 'timestamp', 'nonce']],
  ['The body and its hash', ['body']],
  ['How the lines are joined', ['text', 'line', 'lines', 'scheme']],
  ['The secret', ['secret']],
  ['The HMAC', ['mac']],
  ['How the signature is written', ['signature']],
]

export function mistakesPage(): string {
  const sections = SECTIONS.map(([title, prefixes]) => ({
    title,
    mistakes: MISTAKES.filter(({ name }) => prefixes.includes(name.split('_', 1)[0] ?? '')),
  }))
  const listed = sections.flatMap(({ mistakes }) => mistakes).length
  if (listed !== MISTAKES.length) throw new Error('a kind of mistake has no section on its page')
  return [
    madeFrom('the contract'),
    '# Signature mistakes',
    '',
    'A wrong signature is answered with 401 [`authentication_failed`](errors.md#authentication_failed) and no reason. The',
    '[emulator](../../emulator/README.md#the-page) and [`shopwire doctor signature`](command-line.md#doctor-signature) compare',
    `it with what each of these ${MISTAKES.length} mistakes would produce, and name the mistake with its fix. Two at once are`,
    'recognised too; their names are then joined by a plus sign. Below are the names and the fixes.',
    '',
    'If no mistake matches, the cause is usually a nonce generated twice, a body changed by a proxy, or the secret of another',
    'key.',
    '',
    ...sections.flatMap(({ title, mistakes }) => [`## ${title}`, '', ...mistakeList(mistakes), '']),
  ].join('\n')
}

/** Mistakes with the same fix share a line. */
function mistakeList(mistakes: readonly Mistake[]): string[] {
  const fixes = Map.groupBy(mistakes, ({ fix }) => fix)
  return [...fixes].map(([fix, some]) =>
    wrapped(`- ${some.map(({ name }) => `\`${name}\``).join(', ')}: ${escaped(fix)}`, '  '),
  )
}

/** What Markdown, or the portal's templates, would read as something else. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/\{\}|json=|data=/g, (code) => `\`${code}\``)
}
