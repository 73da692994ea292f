import { MISTAKES, type Mistake } from '@shopwire/contract/signature-mistakes'
import { madeFrom, table } from './markdown.ts'

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
    `A wrong signature is answered with 401 [\`authentication_failed\`](errors.md#authentication_failed) and no reason: a reason would`,
    `help an attacker. The owner of a key may know more. These are the ${MISTAKES.length} mistakes that the`,
    '[emulator](../../emulator/README.md#the-page) and [`shopwire doctor signature`](command-line.md#doctor-signature) recognise: they compare the',
    'received signature with the one that each mistake would produce, and name the mistake and the fix. Two at once are recognised',
    'too; their names are then joined by a plus sign.',
    '',
    'If no mistake matches, the cause is usually a nonce generated twice, a body changed by a proxy, or the secret of another key.',
    '',
    ...sections.flatMap(({ title, mistakes }) => [`## ${title}`, '', mistakeTable(mistakes), '']),
  ].join('\n')
}

function mistakeTable(mistakes: readonly Mistake[]): string {
  const rows = mistakes.map(({ name, title, fix }) => [escaped(title), escaped(fix), `\`${name}\``])
  return table(['What happened', 'What to do', 'Name'], rows)
}

/** What Markdown, or the portal's templates, would read as something else. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/\{\}|json=|data=/g, (code) => `\`${code}\``)
}
