import { Figure, Figures } from '../../components/figures.tsx'
import { Money } from '../../components/money.tsx'
import { Sparkline } from '../../components/sparkline.tsx'
import { formatCount } from '../../lib/money.ts'
import { formatDuration } from '../../lib/time.ts'
import { words } from '../../strings/common.ts'
import { home as text } from '../../strings/home.ts'
import classes from './home.module.css'
import type { Home } from './home-screen.tsx'

const DAYS = 30
const HOURS = 24

/** Balance, orders, speed and webhook: one row, each with a small picture and one line of words. */
export function HomeFigures({ home }: { readonly home: Home }) {
  return (
    <Figures>
      <BalanceFigure home={home} />
      <Figure
        label={text.today.label}
        value={formatCount(home.today.orders)}
        picture={
          <Sparkline
            label={text.today.picture}
            ticks={[...home.today.by_hour, ...rest(home.today.by_hour.length)].map((value) => ({ value }))}
          />
        }
        note={text.today.note(home.today.delivered, home.today.paid, home.today.cancelled)}
      />
      <DeliveryFigure delivery={home.delivery} />
      <WebhookFigure webhook={home.webhook} />
    </Figures>
  )
}

/** The hours of today that are still to come. */
const rest = (passed: number): number[] => new Array<number>(Math.max(0, HOURS - passed)).fill(0)

function BalanceFigure({ home }: { readonly home: Home }) {
  const { days_left: days, per_day_cents: rate, alert_cents: alert } = home.burn
  const covered = Math.min(DAYS, Math.floor(days ?? DAYS))
  const mailDay = alert === null || rate === null || rate === 0 ? -1 : Math.floor(alert / rate)
  return (
    <Figure
      isWide
      label={text.balance.label}
      value={<Money cents={home.balance_cents} as="headline" size="balance" />}
      picture={
        <Sparkline
          as="ticks"
          isFluid
          width={320}
          height={14}
          label={text.balance.picture(covered)}
          ticks={Array.from({ length: DAYS }, (_, day) => ({
            value: 1,
            tone: day === mailDay && day < covered ? 'warn' : day < covered ? 'ink' : 'off',
          }))}
        />
      }
      note={
        <span className={classes.noteLine}>
          <span>
            {days === null || rate === null ? (
              text.balance.noRate
            ) : (
              <>
                <span className="sw-strong">{text.balance.days(text.balance.count(days))}</span>
                {text.balance.rate(rate)}
              </>
            )}
          </span>
          {alert === null ? null : (
            <span className={classes.mail}>
              <span className={classes.swatch} aria-hidden />
              {text.balance.mail(alert)}
            </span>
          )}
        </span>
      }
    />
  )
}

function DeliveryFigure({ delivery }: { readonly delivery: Home['delivery'] }) {
  const { median_s, p95_s, histogram } = delivery
  if (median_s === null)
    return <Figure label={text.delivery.label} value={words.none} note={text.delivery.none} />
  return (
    <Figure
      label={text.delivery.label}
      value={formatDuration(median_s * 1_000)}
      unit={text.delivery.unit}
      picture={<Sparkline label={text.delivery.picture} ticks={histogram.map((value) => ({ value }))} />}
      note={p95_s === null ? undefined : text.delivery.note(formatDuration(p95_s * 1_000))}
    />
  )
}

function WebhookFigure({ webhook }: { readonly webhook: Home['webhook'] }) {
  if (webhook === null)
    return <Figure label={text.webhook.label} value={text.webhook.none} note={text.webhook.noneNote} />
  const { events, accepted_first, retrying, failed, by_hour } = webhook
  if (events === 0) return <Figure label={text.webhook.label} value={words.none} note={text.webhook.quiet} />
  const parts = [
    retrying > 0 ? (
      <span key="retrying" className={classes.warn}>
        {text.webhook.retrying(retrying)}
      </span>
    ) : null,
    failed > 0 ? (
      <span key="failed" className={classes.bad}>
        {text.webhook.failed(failed)}
      </span>
    ) : null,
  ].filter((part) => part !== null)
  return (
    <Figure
      label={text.webhook.label}
      value={percent(accepted_first, events)}
      unit={text.webhook.unit}
      picture={
        <Sparkline
          as="ticks"
          height={14}
          label={text.webhook.picture}
          ticks={by_hour.map((hour) => ({
            value: 1,
            tone: hour.failed > 0 ? 'bad' : hour.retrying > 0 ? 'warn' : hour.events > 0 ? 'quiet' : 'off',
          }))}
        />
      }
      note={
        parts.length === 0 ? (
          text.webhook.fine(events)
        ) : (
          <>
            {parts[0]}
            {parts.length > 1 ? ', ' : null}
            {parts[1]}
            {text.webhook.in24}
          </>
        )
      }
    />
  )
}

/** Rounded down: 100 only when it is all of them. */
const percent = (part: number, whole: number) => String(Math.floor((part / whole) * 1_000) / 10)
