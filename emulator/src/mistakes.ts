import type { RequestParts } from '@shopwire/contract/signing'

export interface Mistake {
  readonly name: string
  readonly title: string
  readonly fix: string
}

/** Which mistake makes exactly this wrong signature. */
export function matchMistake(_signed: RequestParts & { secret: string; signature: string }): Mistake | null {
  return null
}
