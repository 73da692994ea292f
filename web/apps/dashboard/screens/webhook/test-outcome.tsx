import { Loader } from '@mantine/core'
import { IconCircleCheckFilled, IconCircleXFilled } from '@tabler/icons-react'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { formatDuration } from '#lib/time.ts'
import { useRead } from '../../api/hooks.ts'
import { paths } from '../../paths.ts'
import { webhook as text } from '../../strings/webhook.ts'
import { diagnosisOf, errorWord } from '../deliveries/diagnosis.ts'
import classes from './webhook.module.css'

const { test } = text
const ASK_AGAIN_MS = 1_000

/** What became of a test, as soon as the receiver has answered. */
export function TestOutcome({ id }: { readonly id: string }) {
  // The stream tells of it; asking again covers a stream that is just reconnecting.
  const { data } = useRead(
    'getDelivery',
    { id },
    { refetchEveryMs: (reply) => (reply?.attempts[0] ? undefined : ASK_AGAIN_MS) },
  )
  const attempt = data?.attempts[0]
  return (
    <div className={classes.test} role="status" aria-label={test.label}>
      {attempt === undefined ? (
        <>
          <Loader size={14} color="gray" aria-hidden /> {test.sending}
        </>
      ) : attempt.error === null ? (
        <>
          <IconCircleCheckFilled size={16} className={classes.ok} aria-hidden />
          {test.accepted(attempt.status ?? 200, formatDuration(attempt.ms))}
        </>
      ) : (
        <>
          <IconCircleXFilled size={16} className={classes.bad} aria-hidden />
          <span>
            {test.refused(errorWord(attempt.error))}{' '}
            <span className="sw-dim">{diagnosisOf(attempt.error)}</span>
          </span>
        </>
      )}
      {attempt === undefined ? null : <AppLink to={paths.delivery(id)}>{test.open}</AppLink>}
    </div>
  )
}
