/** `info` is neither a success nor a problem, such as a scope that the key does not have. */
export type FindingStatus = 'ok' | 'failed' | 'warning' | 'info' | 'skipped'

export interface Finding {
  readonly name: string
  readonly status: FindingStatus
  readonly detail: string
  readonly fix?: string | undefined
}

export function finding(name: string, status: FindingStatus, detail: string, fix?: string): Finding {
  return { name, status, detail, ...(fix !== undefined && { fix }) }
}
