import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Far more than any client sends ahead; each waiting request costs memory. */
const WAITING_MAX = 64

interface Queue {
  last: ServerResponse | undefined
  waiting: number
}

/**
 * Executes pipelined requests of one connection one at a time. When an answer ends the connection, no later request may have been
 * executed, and a hundred requests in one packet must not run at the same time.
 */
export function serialisePipelinedRequests(): (response: ServerResponse, go: () => void) => void {
  const queues = new WeakMap<Socket, Queue>()
  return (response, go) => {
    const { socket } = response.req
    const queue = queues.get(socket) ?? { last: undefined, waiting: 0 }
    const earlier = queue.last
    queue.last = response
    queues.set(socket, queue)
    // The parser may be halfway through a packet when the connection is ended; the rest of it still arrives here.
    const goIfOpen = () => void (socket.writable && go())
    if (!earlier || earlier.closed) return goIfOpen()
    queue.waiting += 1
    if (queue.waiting > WAITING_MAX) return void socket.destroy()
    earlier.once('close', () => {
      queue.waiting -= 1
      goIfOpen()
    })
  }
}
