import { hexOfId } from '../text/ids.ts'
import { Refusal, Unavailable } from '../trouble.ts'

/**
 * Traces, for code that makes spans. Undefined while tracing is off, and open-telemetry.ts is not loaded then.
 *
 * The id of a trace is the id of the request that began it, in hexadecimal digits, and its second half is the id of the request's
 * span. So any process that reads the request id stored with an order can add to its trace, and nothing else has to be stored
 * (docs/decisions/0024).
 */
export interface Tracing {
  /** The first span of a trace. */
  request(request_id: string, name: string, attributes: Attributes): Span
  /**
   * A span in the trace of a request that has ended, is answered in another process, or never existed: then the trace has the id of
   * its subject.
   */
  follow(of: TraceOf, name: string, kind: SpanKind, attributes: Attributes): Span
  /** Work for several spans at once: in its own trace, with links in both directions. Undefined when none of them is recorded. */
  together(
    members: readonly (Span | undefined)[],
    name: string,
    kind: SpanKind,
    attributes: Attributes,
  ): Span | undefined
  /** Sends the remaining spans, as far as time allows. */
  stop(): Promise<void>
}

export type TraceOf = { readonly request_id: string } | { readonly subject_id: string }

export interface Span {
  /** For log lines. `01`: its trace is recorded. */
  readonly fields: { readonly trace_id: string; readonly trace_flags: '00' | '01' }
  child(name: string, kind: SpanKind, attributes?: Attributes): Span
  /** Ids, counts and words from fixed lists: never a caller's input, a link, a secret or a URL. */
  set(attributes: Attributes): void
  /** Records the caller's own trace, from its `traceparent`; anything else is ignored. */
  linkTo(traceparent: string | undefined): void
  /** With the error, if it failed. */
  end(error?: string): void
}

export type Attributes = Readonly<Record<string, string | number | boolean>>

export type SpanKind = 'internal' | 'client' | 'consumer'

/** Runs the work in a span below the parent, which ends with it. */
export async function inSpan<Result>(
  parent: Span,
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const span = parent.child(name, kind, attributes)
  try {
    const result = await work(span)
    span.end()
    return result
  } catch (error) {
    endWith(span, error)
    throw error
  }
}

/** A refusal is an answer, not a failure of ours. */
export function endWith(span: Span, error: unknown): void {
  if (error instanceof Refusal) {
    span.set({ 'shopwire.refused': error.type })
    span.end()
  } else span.end(error instanceof Unavailable ? `${error.part}_unavailable` : nameOf(error))
}

const nameOf = (error: unknown) => (error instanceof Error ? error.name : 'unknown')

export interface TraceIds {
  readonly trace_id: string
  /** Of the span that began the trace. */
  readonly first_span_id: string
}

export function traceIdsOf(id: string): TraceIds | undefined {
  const trace_id = hexOfId(id)
  return trace_id === undefined ? undefined : { trace_id, first_span_id: trace_id.slice(16) }
}

/**
 * By the random end of the id, so that all processes with the same ratio record the same traces, and a smaller ratio a subset of
 * them.
 */
export function isRecorded(trace_id: string, ratio: number): boolean {
  return Number.parseInt(trace_id.slice(-RANDOM_DIGITS), 16) >= (1 - ratio) * 16 ** RANDOM_DIGITS
}
/** 52 bits, which a number holds exactly. */
const RANDOM_DIGITS = 13
