import type { ReceiveOptions } from '../webhooks/receive.ts'
import type { RawBody } from '../webhooks/verify.ts'
import { answerTo } from './answer.ts'

export interface FastifyOptions extends ReceiveOptions {
  /** `/` by default, below the prefix it is registered with. */
  path?: string | undefined
}

/** What we use of Fastify. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer' },
    parser: (request: never, body: never, done: (error: null, body: unknown) => void) => void,
  ): unknown
  post(
    path: string,
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown
}

export interface FastifyRequestLike {
  headers: Record<string, string | string[] | undefined>
  body: unknown
}

export interface FastifyReplyLike {
  code(status: number): { send(body: string): unknown }
}

/** `app.register(webhook, { path: '/hooks', secrets, onEvent })`. Other routes keep their parsers: a plugin has its own. */
export async function webhook(app: FastifyLike, { path = '/', ...options }: FastifyOptions): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post(path, async (request, reply) => {
    // Without a body there is nothing to parse, and Fastify leaves undefined.
    const { status, body } = await answerTo((request.body ?? '') as RawBody, request.headers, options)
    return reply.code(status).send(body)
  })
}
