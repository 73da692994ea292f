import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Span } from '../platform/observability/tracing.ts'

/**
 * Routes with one way to authenticate and one format of errors. The edge knows neither: it checks the framing, limits connections and
 * bodies, matches, logs and measures. A new family is a folder of its own and an entry in the list given to `createEdge`.
 */
export interface RouteFamily {
  /** For messages about overlapping routes; callers never see it. */
  readonly name: string
  readonly routes: readonly FamilyRoute[]
  /** Such as `/console`. Unknown paths at and below it are refused in this family's format, and no other family may have one there. */
  readonly prefix?: string
  /** Answers every path that no family has, except those below a prefix. One family at most may have it; its `path` is not compared. */
  readonly fallback?: FamilyRoute
  /** The answer to an error of a route, or of the edge once it knows the family: a wrong method, an unknown path below the prefix. */
  presentError(error: unknown, exchange: Exchange): PresentedError
}

export interface FamilyRoute {
  /** The route in log lines and metrics. Several routes may share one; it is never made from what a caller sent. */
  readonly name: string
  /** Compared with the raw path of the request. Where it ends in `/{id}`, that is one segment, not empty and never decoded. */
  readonly path: string
  /** For HEAD, Node sends the headers of the answer alone, the length of the body among them. */
  readonly methods: readonly string[]
  answer(match: RouteMatch, exchange: Exchange): Promise<Answer<AnswerBody>>
}

/** Which route a request is for, decided from its first line and headers alone. */
export interface RouteMatch {
  readonly family: RouteFamily
  readonly route: FamilyRoute
  /** Path and query exactly as sent. */
  readonly target: string
  /** The raw segment for `{id}`, never decoded; empty where the path has none. */
  readonly id: string
  /** What follows the question mark, undefined when there is none. */
  readonly query: string | undefined
}

/** A request and what is known of it so far; its log line and the headers of its answer are made from this, however it ends. */
export interface Exchange {
  readonly request: IncomingMessage
  /** For `receiveBody`, which may have to ask for the body. Answers are returned, never written here. */
  readonly response: ServerResponse
  readonly request_id: string
  /** Of its trace, while tracing is on. */
  span?: Span
  /** Sent with the answer, and with an error as well. */
  headers: Readonly<Record<string, string | string[]>>
  /** Who was authenticated, as the fields of the log line. */
  actor?: Readonly<Record<string, string>>
  /** The answer lasts until somebody ends it, such as a stream of events: its time is not measured, and hanging up is its usual end. */
  isOpenEnded?: true
  /** Called once, when the request is over. */
  onEnd?(end: ExchangeEnd): void
}

export interface ExchangeEnd {
  readonly status: number
  /** The type of the error; null when the request was not refused. */
  readonly refused: string | null
  /** Whether the whole answer was handed to the network before the caller closed the connection. */
  readonly isSent: boolean
}

/** A stream is read as fast as the caller takes it, and destroyed when the caller hangs up. */
export type AnswerBody = string | Buffer | Readable

export interface Answer<Body> {
  readonly status: number
  readonly body: Body
  /** Besides the common ones, or instead of them. A list is sent as one header each, for cookies. */
  readonly headers?: Readonly<Record<string, string | string[]>>
}

export interface PresentedError extends Answer<string | Buffer> {
  /** For the log line. */
  readonly type: string
}
