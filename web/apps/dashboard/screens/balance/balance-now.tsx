import { Skeleton } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { Money } from '#kit/components/values/money.tsx'
import { Chip } from '#kit/components/values/status.tsx'
import { words } from '#kit/words.ts'
import { formatDollars, formatMoney } from '#lib/money.ts'
import type { Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'
import { longUtcDay } from './months.ts'

interface BalanceNowProps {
  readonly view: Reply<'getBalance'> | undefined
  readonly canSetAlert: boolean
  readonly onSetAlert: () => void
}

/** What is there now, how long it lasts, and when somebody is written to. */
export function BalanceNow({ view, canSetAlert, onSetAlert }: BalanceNowProps) {
  const { data: alert } = useRead('getBalanceAlert')
  if (!view) return <Skeleton className={classes.now} height={190} radius="sm" />
  const { burn, owed_cents } = view
  const threshold = alert?.threshold_cents ?? null
  return (
    <section className={classes.now} aria-label={balance.available}>
      <div className={classes.label}>{balance.available}</div>
      <Money cents={view.balance_cents} as="headline" size="balance" />
      <p className={classes.burn}>
        {burn.days_left === null ? (
          balance.noBurn
        ) : (
          <>
            <strong>{balance.daysLeft(burn.days_left)}</strong>
            {balance.burn(formatDollars(burn.per_day_cents), burn.days)}
          </>
        )}
      </p>
      {owed_cents > 0 ? (
        <div className={classes.owed} role="alert">
          <IconAlertTriangle size={16} stroke={1.75} aria-hidden />
          <div>
            <strong>{balance.owed(formatMoney(owed_cents))}</strong>
            <p>{balance.owedBody}</p>
          </div>
        </div>
      ) : null}
      <dl className={classes.facts}>
        <div className={classes.fact}>
          <dt>{balance.alert.title}</dt>
          <dd>
            {canSetAlert ? (
              <button type="button" className={classes.link} onClick={onSetAlert}>
                {threshold === null ? balance.setAlert : balance.change}
              </button>
            ) : null}
            {threshold === null ? balance.alertOff : formatMoney(threshold)}
            {threshold === null || alert?.state === 'ok' || alert === undefined ? null : (
              <Chip tone={alert.state === 'below' ? 'bad' : 'warn'}>
                {alert.state === 'below' ? balance.alertBelow : balance.alertLow}
              </Chip>
            )}
          </dd>
        </div>
        <div className={classes.fact}>
          <dt>{balance.runsOut}</dt>
          <dd>{burn.runs_out_on === null ? words.none : longUtcDay(burn.runs_out_on)}</dd>
        </div>
      </dl>
    </section>
  )
}
