import { HttpCode, Status, type StatusKind } from '#kit/components/values/status.tsx'
import { words } from '#kit/words.ts'
import type { Reply } from '../../api/client.ts'
import classes from './deliveries.module.css'
import { errorWord } from './diagnosis.ts'

export type Row = Reply<'listDeliveries'>['deliveries'][number]

/** A code, or the word for having none. */
export function Outcome({
  status,
  error,
}: {
  readonly status: number | null
  readonly error: string | null
}) {
  if (status !== null) return <HttpCode code={status} />
  if (error === null) return words.none
  return <span className={classes.error}>{errorWord(error)}</span>
}

export function RowState({
  row,
  isChip = false,
}: {
  readonly row: Pick<Row, 'state' | 'attempts'>
  readonly isChip?: boolean
}) {
  const kind: StatusKind = row.state === 'retrying' && row.attempts === 0 ? 'queued' : row.state
  return <Status kind={kind} isChip={isChip} />
}
