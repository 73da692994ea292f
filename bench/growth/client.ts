import { Agent, request as httpRequest } from 'node:http'
import type { Key } from '@shopwire/test-kit/requests/signed-request'
import { headersOf, type Unsigned } from '../shared/load.ts'

export interface Answer {
  readonly ms: number
  readonly body: string
}

/** One kept-alive connection, one request at a time: this measures latency, not throughput. */
export function createClient(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    /** The time of the whole answer; signing is not in it. Anything but 2xx ends the bench. */
    ask(key: Key, request: Unsigned): Promise<Answer> {
      const { method, target, body } = request
      const headers = headersOf(key, request)
      return new Promise((resolve, reject) => {
        const began = performance.now()
        const sent = httpRequest({ host: '127.0.0.1', port, agent, method, path: target, headers })
        sent.on('error', reject).on('response', (response) => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part)).on('error', reject)
          response.on('end', () => {
            const ms = performance.now() - began
            const text = Buffer.concat(parts).toString()
            const { statusCode = 0 } = response
            if (statusCode < 300) resolve({ ms, body: text })
            else reject(new Error(`${method} ${target} answered ${statusCode}: ${text.slice(0, 500)}`))
          })
        })
        sent.end(body)
      })
    },
    close: () => agent.destroy(),
  }
}
