import { expect, test } from 'vitest'
import { createLog } from '../../../src/platform/observability/log.ts'

const linesOf = (write: (log: ReturnType<typeof createLog>) => void) => {
  const lines: string[] = []
  write(createLog('debug', { write: (line: string) => void lines.push(line) }))
  return lines.join('')
}

test('secrets and links are redacted at any depth', () => {
  const text = linesOf((log) => {
    log.info(
      { secret: 'canary-1', links: ['canary-2'], key: { secret: 'canary-3', deep: { nonce: 'canary-4' } } },
      'x',
    )
    log.info({ list: [{ a: { b: { secret: 'canary-8' } } }] }, 'x')
    log.info({ request: { headers: { authorization: 'canary-5' }, body: 'canary-6' }, url: 'canary-7' }, 'x')
  })
  expect(text).not.toContain('canary')
  expect(text.match(/\[redacted\]/g)?.length).toBe(8)
})

test('an error is logged with message, code, stack and causes, without properties added by a driver', () => {
  const cause = Object.assign(new Error('inner'), {
    code: '23505',
    detail: 'Key (nonce)=(canary) exists',
    parameters: ['canary'],
  })
  const text = linesOf((log) => log.error({ err: new Error('outer', { cause }) }, 'x'))
  expect(text).toContain('outer')
  expect(text).toContain('inner')
  expect(text).toContain('23505')
  expect(text).not.toContain('canary')
})
