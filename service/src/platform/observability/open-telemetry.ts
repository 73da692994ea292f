import { randomUUID } from 'node:crypto'
import {
  type Context,
  SpanKind as OtelKind,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from './log.ts'
import { type Attributes, isRecorded, type Span, type SpanKind, type Tracing, traceIdsOf } from './tracing.ts'

export interface OpenTelemetryOptions {
  /** Where spans are sent, by OTLP over HTTP. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly service: { readonly name: string; readonly version: string }
  /** The share of traces that is recorded. */
  readonly ratio: number
  readonly log: Log
}

const SEND_EVERY_MS = 1_000
const SEND_MS_MAX = 5_000
const STOP_MS_MAX = 3_000
const WAITING_SPANS_MAX = 4_096
const SPANS_PER_CALL_MAX = 512
const ATTRIBUTE_LETTERS_MAX = 200
const KINDS = { internal: OtelKind.INTERNAL, client: OtelKind.CLIENT, consumer: OtelKind.CONSUMER }
/** Version, trace, span and flags of W3C Trace Context; ids of zeros alone are invalid. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/**
 * Records spans and sends them to a collector in the background. A slow or unreachable collector delays nothing: what does not fit
 * into the queue is dropped. Loaded only where traces are configured.
 */
export function openTelemetry({ url, headers, service, ratio, log }: OpenTelemetryOptions): Tracing {
  const ids = chosenIds()
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: SEND_MS_MAX })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': service.name,
      'service.version': service.version,
      'service.instance.id': randomUUID(),
    }),
    // The decision to record a trace is made before any span exists.
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_LETTERS_MAX },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportOutages(exporter, log),
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: 2 * SEND_MS_MAX,
        maxQueueSize: WAITING_SPANS_MAX,
        maxExportBatchSize: SPANS_PER_CALL_MAX,
      }),
    ],
  })
  const tracer = provider.getTracer('shopwire', service.version)

  return {
    request(request_id, name, attributes) {
      const known = traceIdsOf(request_id)
      if (!known || !isRecorded(known.trace_id, ratio)) return new UnrecordedSpan(known?.trace_id)
      ids.choose(known.trace_id, known.first_span_id)
      return new RecordedSpan(
        tracer,
        tracer.startSpan(name, { kind: OtelKind.SERVER, attributes }, ROOT_CONTEXT),
      )
    },
    follow(of, name, kind, attributes) {
      const known = traceIdsOf('request_id' in of ? of.request_id : of.subject_id)
      if (!known || !isRecorded(known.trace_id, ratio)) return new UnrecordedSpan(known?.trace_id)
      const options = { kind: KINDS[kind], attributes }
      if ('request_id' in of) {
        const first = remote(known.trace_id, known.first_span_id, TraceFlags.SAMPLED)
        return new RecordedSpan(
          tracer,
          tracer.startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, first)),
        )
      }
      ids.choose(known.trace_id)
      return new RecordedSpan(tracer, tracer.startSpan(name, options, ROOT_CONTEXT))
    },
    together(members, name, kind, attributes) {
      const spans = members.flatMap((member) => (member instanceof RecordedSpan ? [member.otel] : []))
      if (spans.length === 0) return undefined
      const links = spans.map((span) => ({ context: span.spanContext() }))
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes, links }, ROOT_CONTEXT)
      for (const member of spans) member.addLink({ context: span.spanContext() })
      return new RecordedSpan(tracer, span)
    },
    async stop() {
      const { promise: overdue, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, STOP_MS_MAX)
      // Spans that could not be sent were reported.
      await Promise.race([provider.shutdown().catch(() => {}), overdue])
      clearTimeout(timer)
    },
  }
}

/** The next span gets the ids that were chosen for it; any other span gets random ones. */
function chosenIds(): IdGenerator & { choose(trace_id: string, span_id?: string): void } {
  const random = new RandomIdGenerator()
  let chosenTrace: string | undefined
  let chosenSpan: string | undefined
  return {
    choose(trace_id, span_id) {
      chosenTrace = trace_id
      chosenSpan = span_id
    },
    generateTraceId() {
      const id = chosenTrace ?? random.generateTraceId()
      chosenTrace = undefined
      return id
    },
    generateSpanId() {
      const id = chosenSpan ?? random.generateSpanId()
      chosenSpan = undefined
      return id
    },
  }
}

/** One log line when spans can no longer be sent, and one when they can again. */
function reportOutages(exporter: SpanExporter, log: Log): SpanExporter {
  let lost = 0
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error) {
          if (lost === 0)
            log.warn(
              { why: result.error.message },
              'traces cannot be sent: check the collector and OTEL_EXPORTER_OTLP_ENDPOINT; nothing else is affected',
            )
          lost += spans.length
        } else if (lost > 0) {
          log.info({ spans_lost: lost }, 'traces are sent again')
          lost = 0
        }
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** A class, because there are several for each request. */
class RecordedSpan implements Span {
  readonly fields: Span['fields']
  readonly otel: OtelSpan
  readonly #tracer: Tracer
  #context: Context | undefined

  constructor(tracer: Tracer, otel: OtelSpan) {
    this.#tracer = tracer
    this.otel = otel
    this.fields = { trace_id: otel.spanContext().traceId, trace_flags: '01' }
  }

  child(name: string, kind: SpanKind, attributes: Attributes = {}): Span {
    this.#context ??= trace.setSpan(ROOT_CONTEXT, this.otel)
    const otel = this.#tracer.startSpan(name, { kind: KINDS[kind], attributes }, this.#context)
    return new RecordedSpan(this.#tracer, otel)
  }

  set(attributes: Attributes): void {
    this.otel.setAttributes(attributes)
  }

  linkTo(traceparent: string | undefined): void {
    const [, trace_id, span_id, flags] = TRACEPARENT.exec(traceparent ?? '') ?? []
    if (!trace_id || !span_id || !flags) return
    const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
    this.otel.addLink({ context: remote(trace_id, span_id, traceFlags) })
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.otel.setAttribute('error.type', error)
      this.otel.setStatus({ code: SpanStatusCode.ERROR })
    }
    this.otel.end()
  }
}

function remote(traceId: string, spanId: string, traceFlags: number): SpanContext {
  return { traceId, spanId, traceFlags, isRemote: true }
}

/** In log lines only. */
class UnrecordedSpan implements Span {
  readonly fields: Span['fields']

  constructor(trace_id = NO_TRACE) {
    this.fields = { trace_id, trace_flags: '00' }
  }

  child(): Span {
    return this
  }
  set() {}
  linkTo() {}
  end() {}
}
const NO_TRACE = '0'.repeat(32)
