import { SIGNATURE_FORM } from '../headers.ts'
import { KINDS, type Mistake, type MistakeKind } from './kinds.ts'
import {
  type Change,
  changesOf,
  type Field,
  type Known,
  millisecondsOf,
  type Plan,
  rightPlan,
} from './variants.ts'

export { MISTAKES, type Mistake } from './kinds.ts'

export type SignatureAttempt = Known & {
  /** As it arrived. */
  readonly signature: string
  /** The value of X-Api-Key; needed to detect that the key id was used as the secret. */
  readonly keyId?: string
  /** The Host header; needed to detect that the whole URL was signed. */
  readonly host?: string
}

export interface MadeMistake extends Mistake {
  /** The text that was signed instead of the canonical one; the canonical text itself when the mistake is elsewhere. */
  readonly signed: string
}

/**
 * Finds the common mistake that produces exactly this signature; null when the signature is right, or wrong in an
 * unknown way. Takes a few milliseconds.
 *
 * The result is only for the owner of the key, in a log or on a page. Never put it into an answer to the caller, and
 * do not compute it before the answer is sent: the text, or the time it took, would be an oracle for whoever tries to
 * forge signatures.
 */
export function matchMistake({ signature, ...known }: SignatureAttempt): MadeMistake | null {
  const readings = readingsOf(signature)
  if (readings.length === 0) return null
  const right = rightPlan(known)
  const found = search(known, right, (plan) => {
    const mac = plan.mac(plan.key, plan.layout(plan))
    return readings.find(({ hex, isCut }) => (isCut ? mac.startsWith(hex) && mac !== hex : mac === hex))
      ?.kinds
  })
  if (found === null || found.kinds.length === 0) return null
  return { ...described(found.kinds), signed: found.plan.layout(found.plan) }
}

/** Bounds the search to about ten milliseconds. */
const HMACS_MAX = 3000
/** Bounds the search for paths of many kilobytes, too. */
const SIGNED_LENGTH_MAX = 2_000_000

/** How many of a field's likeliest mistakes are combined with those of another field. */
const PAIRED_MAX: Readonly<Record<Field, number>> = {
  ...{ target: 14, bodyHash: 14, key: 12, layout: 8, mac: 6, method: 1, timestamp: 3, nonce: 2 },
}
const TOGETHER: readonly Field[] = [
  'target',
  'bodyHash',
  'key',
  'layout',
  'mac',
  'method',
  'timestamp',
  'nonce',
]
const THREE_PAIRED_MAX = 6

/** `judge` returns undefined for no match, and otherwise the mistakes in the signature's encoding. */
function search(
  known: Known,
  right: Plan,
  judge: (plan: Plan) => readonly MistakeKind[] | undefined,
): { kinds: readonly MistakeKind[]; plan: Plan } | null {
  let left = Math.min(HMACS_MAX, Math.floor(SIGNED_LENGTH_MAX / right.layout(right).length))
  for (const changes of candidates(known, right)) {
    if (left-- === 0) return null
    const [one, two, three] = changes
    const plan: Plan = { ...right, ...one?.plan, ...two?.plan, ...three?.plan }
    const spelling = judge(plan)
    if (spelling) return { kinds: [...changes.map(({ kind }) => kind), ...spelling], plan }
  }
  return null
}

function* candidates(known: Known, right: Plan): Generator<readonly Change[]> {
  yield []
  const changes = changesOf(known, right)
  for (const field of TOGETHER) for (const change of changes[field]) yield [change]

  const likely = (field: Field, most = PAIRED_MAX[field]) => changes[field].slice(0, most)
  for (const [place, other] of TOGETHER.entries()) {
    for (const field of TOGETHER.slice(0, place)) {
      for (const one of likely(field)) for (const two of likely(other)) yield [one, two]
    }
  }
  for (const change of millisecondsOf(known.timestamp)) yield [change]
  for (const one of likely('target', THREE_PAIRED_MAX))
    for (const two of likely('bodyHash', THREE_PAIRED_MAX))
      for (const three of likely('key', THREE_PAIRED_MAX)) yield [one, two, three]
}

interface Reading {
  readonly hex: string
  /** Only a prefix of the signature was sent. */
  readonly isCut: boolean
  readonly kinds: readonly MistakeKind[]
}

const HEX_LENGTHS = [32, 40, 64, 96, 128]
const CUT_LENGTH_MIN = 32
/** Longer than any encoding of a signature; bounds the work of the patterns below. */
const PRESENTED_LENGTH_MAX = 300

/** The possible encodings of the header's value. */
function readingsOf(presented: string): readonly Reading[] {
  if (SIGNATURE_FORM.test(presented)) return [whole(presented)]
  if (presented.length > PRESENTED_LENGTH_MAX) return []
  const twice = /^(\S+), ?\1$/.exec(presented)?.[1]
  if (twice !== undefined) return also('signature_twice', twice)
  const wrapped = /^\s*(["'<]?)(.*?)[>"']?\s*$/s.exec(presented)?.[2] ?? ''
  if (wrapped !== presented) return also('signature_wrapped', wrapped)
  const prefixed = /^(?:0x(?=[0-9a-f]+$)|[A-Za-z][\w-]*[=:] ?|[A-Za-z][\w-]* )(.+)$/s.exec(presented)?.[1]
  if (prefixed !== undefined && prefixed.length >= CUT_LENGTH_MIN) return also('signature_prefixed', prefixed)
  if (/^[0-9a-f]+$/.test(presented)) {
    const cut: Reading = { hex: presented, isCut: true, kinds: ['signature_cut'] }
    return [
      ...(HEX_LENGTHS.includes(presented.length) ? [whole(presented)] : []),
      ...(presented.length >= CUT_LENGTH_MIN ? [cut] : []),
    ]
  }
  if (/^[0-9a-fA-F]+$/.test(presented)) return also('signature_upper_case', presented.toLowerCase())
  if (/^[\w+/-]+={0,2}$/.test(presented)) return fromBase64(presented)
  return []
}

function fromBase64(presented: string): readonly Reading[] {
  const bytes = Buffer.from(presented, 'base64')
  const text = bytes.toString('latin1')
  if (/^[0-9a-f]{40,}$/i.test(text)) return also('signature_base64_of_hex', text)
  const isUrl = /[-_]/.test(presented) || presented.length % 4 !== 0
  const kinds: MistakeKind[] = [isUrl ? 'signature_base64url' : 'signature_base64']
  return HEX_LENGTHS.includes(bytes.length * 2) ? [{ hex: bytes.toString('hex'), isCut: false, kinds }] : []
}

function also(kind: MistakeKind, rest: string): readonly Reading[] {
  return readingsOf(rest).map((reading) => ({ ...reading, kinds: [kind, ...reading.kinds] }))
}

function whole(hex: string): Reading {
  return { hex, isCut: false, kinds: [] }
}

function described(kinds: readonly MistakeKind[]): Mistake {
  const texts = kinds.map((kind) => KINDS[kind])
  const titles = texts.map(([title], place) =>
    place === 0 ? title : title.charAt(0).toLowerCase() + title.slice(1),
  )
  return {
    name: kinds.join('+'),
    title: titles.join(', and '),
    fix: [...new Set(texts.map(([, fix]) => fix))].join(' '),
  }
}
