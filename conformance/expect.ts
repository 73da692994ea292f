import { isDeepStrictEqual } from 'node:util'
import { type Answer, headerOf } from './http.ts'
import { errorBody, type Rule } from './shapes.ts'

/** A server that does not do what the sentence says. The message must be clear without any other line. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch'
  readonly expected: string
  readonly got: string

  constructor(expected: string, got: string) {
    super(`expected ${expected}; got ${got}`)
    this.expected = expected
    this.got = got
  }
}

/** Something that a check needs is not there: it is skipped, not failed. */
export class Unmet extends Error {
  override readonly name = 'Unmet'
}

export interface Reply extends Answer {
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came back; the check says what it should be
  readonly json: any
  header(name: string): string | undefined
  /** The body of a 200 or 201; anything else is a mismatch. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  ok(): any
  status200(): Reply
  is(status: number): Reply
  /** A refusal with this status and type, in the closed shape of errors. */
  refused(status: number, type?: string): Reply
  shaped(rule: Rule): Reply
}

export function replyOf(answer: Answer): Reply {
  const reply: Reply = {
    ...answer,
    json: parse(answer.body),
    header: (name) => headerOf(answer.headers, name),
    ok() {
      if (answer.status === 200 || answer.status === 201) return reply.json
      throw new Mismatch('status 200', describe(reply))
    },
    status200: () => reply.is(200),
    is(status) {
      if (answer.status !== status) throw new Mismatch(`status ${status}`, describe(reply))
      return reply
    },
    refused(status, type) {
      const wanted = `status ${status}${type === undefined ? '' : ` with error type "${type}"`}`
      if (answer.status !== status) throw new Mismatch(wanted, describe(reply))
      const wrong = errorBody(reply.json, 'the body')
      if (wrong !== undefined)
        throw new Mismatch('{"error":{"type","message"}} and nothing else', `${wrong}, in ${describe(reply)}`)
      if (type !== undefined && reply.json.error.type !== type) throw new Mismatch(wanted, describe(reply))
      return reply
    },
    shaped(rule) {
      const wrong = rule(reply.json, 'the body')
      if (wrong !== undefined)
        throw new Mismatch('a body as the interface lists it', `${wrong}, in ${describe(reply)}`)
      return reply
    },
  }
  return reply
}

export function equal(what: string, got: unknown, expected: unknown) {
  if (!isDeepStrictEqual(got, expected)) throw new Mismatch(`${what} to be ${shown(expected)}`, shown(got))
}

export function that(what: string, holds: boolean, got: unknown) {
  if (!holds) throw new Mismatch(what, shown(got))
}

export function fits(what: string, value: unknown, rule: Rule) {
  const wrong = rule(value, what)
  if (wrong !== undefined) throw new Mismatch(`${what} as the interface lists it`, wrong)
}

const SHOWN_LENGTH_MAX = 300

function describe({ status, body, asked }: Answer): string {
  const text = masked(body.toString('utf8')).slice(0, SHOWN_LENGTH_MAX)
  return `status ${status} for ${asked}${text === '' ? ' without a body' : ` with the body ${text}`}`
}

function shown(value: unknown): string {
  const isLinks =
    Array.isArray(value) && value.length > 0 && value.every((one) => /^https?:/.test(String(one)))
  if (isLinks) return `${value.length} links, not shown here`
  return masked(JSON.stringify(value) ?? 'nothing').slice(0, SHOWN_LENGTH_MAX)
}

/** Links and secrets are bearer values, and reports are passed on. */
function masked(text: string): string {
  return text.replace(/"links":\["[^\]]*\]/g, '"links":["…"]').replace(/whsec_[\w+/=-]+/g, 'whsec_…')
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
