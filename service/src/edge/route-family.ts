import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Span } from '../platform/observability/tracing.ts'

/**
 * Routes with one way to authenticate and one error format. The edge knows neither: it checks the framing, limits connections and
 * bodies, matches, logs and measures. A new family is a new folder and an entry in the list given to `createEdge`.
 */
export interface RouteFamily {
  /** For messages about overlapping routes; callers never see it. */
  readonly name: string
  readonly routes: readonly FamilyRoute[]
  /** Such as `/console`. Unknown paths at and below it are refused in this family's format, and no other family may have routes there. */
  readonly prefix?: string
  /** Answers every path without a family, except those below a prefix. At most one family may have it; its `path` is not compared. */
  readonly fallback?: FamilyRoute
  /** Presents an error of a route, or of the edge once it knows the family: a wrong method, an unknown path below the prefix. */
  presentError(error: unknown, exchange: Exchange): PresentedError
}

export interface FamilyRoute {
  /** The route in log lines and metrics. Several routes may share one; it is never made from what a caller sent. */
  readonly name: string
  /** Compared with the raw path of the request. If it ends in `/{id}`, that is one segment, not empty and never decoded. */
  readonly path: string
  /** For HEAD, Node sends only the headers, including the length of the body. */
  readonly methods: readonly string[]
  answer(match: RouteMatch, exchange: Exchange): Promise<Answer<AnswerBody>>
}

/** Which route a request is for, decided from its first line and headers alone. */
export interface RouteMatch {
  readonly family: RouteFamily
  readonly route: FamilyRoute
  /** Path and query exactly as sent. */
  readonly target: string
  /** The raw segment for `{id}`, never decoded; empty if the path has none. */
  readonly id: string
  /** The query string without the question mark; undefined when there is none. */
  readonly query: string | undefined
}

/** A request and what is known about it so far; its log line and response headers are made from this, however it ends. */
export interface Exchange {
  readonly request: IncomingMessage
  /** For `receiveBody`, which may have to ask the client for the body. Answers are returned, never written here. */
  readonly response: ServerResponse
  readonly request_id: string
  /** The request's span, while tracing is on. */
  span?: Span
  /** Sent with the answer, and with an error as well. */
  headers: Readonly<Record<string, string | string[]>>
  /** The authenticated caller, as the fields of the log line. */
  actor?: Readonly<Record<string, string>>
  /**
   * The answer lasts until one side ends it, such as a stream of events: its time is not measured, and a closed connection is its
   * normal end.
   */
  isOpenEnded?: true
  /** Called once, when the request has ended. */
  onEnd?(end: ExchangeEnd): void
}

export interface ExchangeEnd {
  readonly status: number
  /** The type of the error; null when the request was not refused. */
  readonly refused: string | null
  /** Whether the whole answer was handed to the network before the caller closed the connection. */
  readonly isSent: boolean
}

/** A stream is read as fast as the caller takes it, and destroyed when the connection closes. */
export type AnswerBody = string | Buffer | Readable

export interface Answer<Body> {
  readonly status: number
  readonly body: Body
  /** Added to the common headers, or replacing them. A list is sent as one header each, for cookies. */
  readonly headers?: Readonly<Record<string, string | string[]>>
}

export interface PresentedError extends Answer<string | Buffer> {
  /** For the log line. */
  readonly type: string
}
