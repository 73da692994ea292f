import { MISTAKES } from '@shopwire/contract/signature-mistakes'
import { madeFrom, wrapped } from './markdown.ts'

interface Section {
  readonly title: string
  /** What a kind is about is the first word of its name. */
  readonly prefixes: readonly string[]
  /** What is right. The tools name the fix of each mistake. */
  readonly rule: string
}

/** In the order of the canonical text. */
const SECTIONS: readonly Section[] = [
  {
    title: 'Path and query',
    prefixes: ['path', 'query'],
    rule: 'Sign what stands on the request line: the path with `/v1` and, if there is one, `?` and the raw query, with its percent signs, in the order in which it is sent. Build the URL once, and sign and send that one string: two encoders rarely agree.',
  },
  {
    title: 'Method, timestamp, nonce',
    prefixes: ['method', 'timestamp', 'nonce'],
    rule: 'Make each once per attempt, and use the same text for the header and for signing: the method in upper case, Unix seconds in ten digits, the nonce in lower-case hex without dashes. Some libraries turn a request with a body into POST.',
  },
  {
    title: 'The body and its hash',
    prefixes: ['body'],
    rule: 'Serialise once as UTF-8 JSON without a byte order mark, hash those bytes with SHA-256 in lower-case hex, and send those bytes: in Python `json.dumps` and `data=`, not `json=`; in Go `Marshal`, not an `Encoder`; in a shell `printf`, not `echo`. No body is zero bytes; its hash begins with e3b0c442.',
  },
  {
    title: 'How the lines are joined',
    prefixes: ['text', 'line', 'lines', 'scheme'],
    rule: 'There are always five lines: method, path, timestamp, nonce, body hash. A single newline character joins them, and nothing follows the last. The key id is not signed. Webhooks are signed differently.',
  },
  {
    title: 'The secret',
    prefixes: ['secret'],
    rule: 'The key of the HMAC is the text of the secret exactly as it was shown, as UTF-8 bytes; nothing is decoded. Trim it when you read it from a file, and refuse to start without it.',
  },
  {
    title: 'The HMAC',
    prefixes: ['mac'],
    rule: 'HMAC-SHA256: the secret is its key, the canonical text its message. Libraries differ in the order of their arguments. Only the body is hashed before.',
  },
  {
    title: 'How the signature is written',
    prefixes: ['signature'],
    rule: 'Send 64 lower-case hex characters and nothing else, once per attempt.',
  },
]

export function mistakesPage(): string {
  const sections = SECTIONS.map(({ title, prefixes, rule }) => ({
    title,
    rule,
    names: MISTAKES.filter(({ name }) => prefixes.includes(name.split('_', 1)[0] ?? '')).map(
      ({ name }) => `\`${name}\``,
    ),
  }))
  const listed = sections.flatMap(({ names }) => names).length
  if (listed !== MISTAKES.length) throw new Error('a kind of mistake has no section on its page')
  return [
    madeFrom('the contract'),
    '# Signature mistakes',
    '',
    'A wrong signature is answered with 401 [`authentication_failed`](errors.md#authentication_failed) and no reason. The',
    '[emulator](../../emulator/README.md#the-page) and [`shopwire doctor signature`](command-line.md#doctor-signature)',
    `compare it with what each of these ${MISTAKES.length} mistakes would produce, and print the one that matches with its fix. The`,
    'names of two at once are joined by a plus sign. If none matches, the cause is usually a nonce generated twice, a body',
    'changed by a proxy, or the secret of another key.',
    '',
    ...sections.flatMap(({ title, rule, names }) => [
      `## ${title}`,
      '',
      wrapped(rule),
      '',
      wrapped(`${names.join(', ')}.`),
      '',
    ]),
  ].join('\n')
}
