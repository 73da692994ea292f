import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Entry, Journal } from '../store/journal.ts'

/** A comment is sent this often, so that proxies do not close a quiet stream. */
const BREATH_MS = 15_000
/** A client that does not read is disconnected; it reconnects and gets what it missed. */
const BACKLOG_BYTES_MAX = 4_000_000

export type Streams = ReturnType<typeof createStreams>

/** Streams changes as server-sent events. A client that reconnects names the last number it saw and gets the rest. */
export function createStreams(journal: Journal) {
  const open = new Set<ServerResponse>()
  let isEnded = false
  return {
    serve(request: IncomingMessage, response: ServerResponse, after: number | undefined) {
      const seen = Number(request.headers['last-event-id'] ?? after ?? journal.last())
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
      })
      const write = ({ seq, kind, value }: Entry) => {
        response.write(`id: ${seq}\nevent: ${kind}\ndata: ${JSON.stringify(value)}\n\n`)
        if (response.writableLength > BACKLOG_BYTES_MAX) response.destroy()
      }
      response.write(`retry: 1000\n\n`)
      for (const entry of journal.allAfter(Number.isSafeInteger(seen) ? seen : journal.last())) write(entry)
      const stop = journal.listen(write)
      const breath = setInterval(() => response.write(':\n\n'), BREATH_MS)
      open.add(response)
      response.once('close', () => {
        stop()
        clearInterval(breath)
        open.delete(response)
      })
      // A page reconnects within a second; accepting it now would keep the server from closing.
      if (isEnded) response.end()
    },
    end() {
      isEnded = true
      for (const response of open) response.end()
    },
  }
}
