import type { Reply } from '../../api/client.ts'

export interface EventKind {
  readonly kind: Reply<'listEventKinds'>['kinds'][number]
  /** When the latest was made. */
  readonly lastAt: string | undefined
}
