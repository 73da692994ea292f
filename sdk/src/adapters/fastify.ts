import type { ReceiveOptions } from '../webhooks/receive.ts'
import { requireSecrets } from '../webhooks/secrets.ts'
import type { RawBody } from '../webhooks/verify.ts'
import { answerTo } from './answer.ts'

export interface FastifyOptions extends ReceiveOptions {
  /** `/` by default, below the prefix it is registered with. */
  path?: string | undefined
}

/** Any Fastify instance. Its own types are overloads that depend on its many parameters, so they are not repeated here. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(...parts: never): unknown
  post(...parts: never): unknown
}

/** `app.register(webhook, { path: '/hooks', secrets, onEvent })`. Other routes keep their parsers: a plugin has its own. */
export async function webhook(
  instance: FastifyLike,
  { path = '/', ...options }: FastifyOptions,
): Promise<void> {
  requireSecrets(options.secrets)
  const app = instance as unknown as App
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request, body) => body)
  app.post(path, async (request, reply) => {
    // Without a body there is nothing to parse, and Fastify leaves undefined.
    const { status, body } = await answerTo((request.body ?? '') as RawBody, request.headers, options)
    return reply.code(status).send(body)
  })
}

/** What we use of it. */
interface App {
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer' },
    parser: (request: unknown, body: Uint8Array) => Promise<unknown>,
  ): void
  post(path: string, handler: (request: Request, reply: Reply) => Promise<unknown>): void
}

interface Request {
  headers: Record<string, string | string[] | undefined>
  body: unknown
}

interface Reply {
  code(status: number): { send(body: string): unknown }
}
