import { type ErrorType, errorTypes } from '@shopwire/contract'
import { expect } from 'vitest'
import type { RawAnswer } from './raw-http.ts'

/** Checks that an answer is this refusal in exactly the contract's shape, and returns its message. */
export function expectRefusal(answer: RawAnswer | undefined, type: ErrorType): string {
  expect({ type: typeOf(answer), status: answer?.status, faults: faultsOf(answer) }).toEqual({
    type,
    status: errorTypes[type].status,
    faults: [],
  })
  return JSON.parse(answer?.body ?? '').error.message
}

/** Checks what every answer must have, including a refusal by the parser; empty when nothing is wrong. */
export function faultsOf(answer: RawAnswer | undefined, { isHead = false } = {}): string[] {
  if (!answer) return ['no answer']
  const { headers, status, body } = answer
  const faults: string[] = []
  const must = (isTrue: boolean, fault: string) => void (isTrue || faults.push(fault))
  must(
    headers['content-type'] === 'application/json; charset=utf-8',
    `content-type ${headers['content-type']}`,
  )
  must(headers['cache-control'] === 'no-store', `cache-control ${headers['cache-control']}`)
  must(headers['x-content-type-options'] === 'nosniff', `sniffing ${headers['x-content-type-options']}`)
  must(/^req_[0-9a-hjkmnp-tv-z]{26}$/.test(headers['x-request-id'] ?? ''), `id ${headers['x-request-id']}`)
  must(!Number.isNaN(Date.parse(headers.date ?? '')), `date ${headers.date}`)
  must(headers['access-control-allow-origin'] === undefined, 'a CORS header')
  if (status >= 400 && !isHead) must(isRefusalBody(status, body), `body ${body}`)
  if (isHead) must(body === '', 'a body in answer to HEAD')
  return faults
}

export function typeOf(answer: RawAnswer | undefined): string | undefined {
  try {
    return JSON.parse(answer?.body ?? '').error?.type
  } catch {
    return undefined
  }
}

function isRefusalBody(status: number, text: string): boolean {
  try {
    const value = JSON.parse(text)
    const { type, message } = value.error
    return (
      Object.keys(value).join() === 'error' &&
      Object.keys(value.error).sort().join() === 'message,type' &&
      errorTypes[type as ErrorType]?.status === status &&
      typeof message === 'string' &&
      message.length > 0
    )
  } catch {
    return false
  }
}
