import { Readable } from 'node:stream'
import type { DashboardRoute } from '@shopwire/contract/dashboard'
import { Ajv } from 'ajv'
import type { Download } from '../../dashboard/area.ts'
import { assert } from '../../platform/trouble.ts'
import type { Answer, AnswerBody } from '../route-family.ts'

export type PresentReply = (reply: unknown) => Answer<AnswerBody>

const replies = new Ajv({ strict: true, allErrors: false })

/** Turns a handler's result into the answer that its route promises: JSON, a file or a stream. */
export function createPresenter(route: DashboardRoute, isStrict: boolean): PresentReply {
  if (route.stream) {
    const headers = {
      'content-type': `${route.stream}; charset=utf-8`,
      // Proxies that buffer answers would hold events back.
      'x-accel-buffering': 'no',
    }
    return (reply) => {
      assert(reply instanceof Readable, `${route.name} returns a stream`)
      return { status: 200, body: reply, headers }
    }
  }
  if (route.download) {
    const type = route.download === 'text/csv' ? 'text/csv; charset=utf-8' : route.download
    return (reply) => {
      const { filename, content } = reply as Download
      assert(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(filename), 'the name of a file has plain characters')
      const headers = {
        'content-type': type,
        'content-disposition': `attachment; filename="${filename}"`,
      }
      return { status: 200, body: bodyOf(content), headers }
    }
  }
  assert(route.reply, `${route.name} has a schema, a download or a stream`)
  const check = isStrict ? replies.compile(route.reply) : undefined
  return (reply) => {
    const body = JSON.stringify(reply)
    if (check) {
      // As the browser will read it: undefined properties are missing, dates are text.
      assert(check(JSON.parse(body)), `the reply of ${route.name} fits: ${explain(check.errors)}`)
    }
    return { status: 200, body }
  }
}

function bodyOf(content: Download['content']): AnswerBody {
  return typeof content === 'string' || Buffer.isBuffer(content)
    ? content
    : Readable.from(content, { objectMode: false })
}

/** The place and the rule, never the value. */
function explain(errors: typeof replies.errors): string {
  const [error] = errors ?? []
  return error ? `${error.instancePath} ${error.message}` : ''
}
