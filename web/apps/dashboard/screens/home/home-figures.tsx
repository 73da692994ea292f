import { Figure, Figures } from '#kit/components/charts/figures.tsx'
import { Sparkline, type Tick } from '#kit/components/charts/sparkline.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { words } from '#kit/words.ts'
import { formatCount, formatDollars } from '#lib/money.ts'
import { formatDuration } from '#lib/time.ts'
import { paths } from '../../paths.ts'
import { home } from '../../strings/home.ts'
import classes from './home.module.css'
import type { HomeData } from './home-types.ts'

const DAYS_SHOWN = 30
const HOURS_OF_DAY = 24

export function HomeFigures({ data }: { readonly data: HomeData }) {
  return (
    <Figures>
      <BalanceFigure data={data} />
      <TodayFigure today={data.today} />
      <DeliveryFigure delivery={data.delivery} />
      <WebhookFigure webhook={data.webhook} />
    </Figures>
  )
}

/** Days left as ticks; the day on which the mail is sent is marked. */
function BalanceFigure({ data: { balance_cents, burn } }: { readonly data: HomeData }) {
  const { days_left, per_day_cents, alert_cents } = burn
  const said = home.balance
  const days = days_left === null ? undefined : said.days(days_left)
  return (
    <Figure
      label={said.label}
      isWide
      value={<Money cents={balance_cents} as="headline" size="balance" />}
      picture={
        days_left === null || days === undefined ? undefined : (
          <Sparkline
            as="ticks"
            isFluid
            height={12}
            width={300}
            ticks={dayTicks(days_left, alertDay(alert_cents, per_day_cents))}
            label={said.picture(days)}
          />
        )
      }
      note={
        <span className={classes.split}>
          {days === undefined ? (
            <span>{balance_cents === 0 ? said.empty : said.noBurn}</span>
          ) : (
            <span>
              <strong>{days}</strong>
              {said.pace(formatDollars(per_day_cents))}
            </span>
          )}
          {alert_cents === null ? null : (
            <span className={classes.alert}>
              <span className={classes.swatch} aria-hidden />
              {said.alert(formatDollars(alert_cents))}
            </span>
          )}
        </span>
      }
    />
  )
}

function alertDay(alert_cents: number | null, per_day_cents: number): number | undefined {
  return alert_cents === null || per_day_cents === 0 ? undefined : Math.floor(alert_cents / per_day_cents)
}

function dayTicks(daysLeft: number, alert: number | undefined): Tick[] {
  return Array.from({ length: DAYS_SHOWN }, (_, day) => {
    const isLeft = day < daysLeft
    return { value: 1, tone: day === alert ? 'warn' : isLeft ? 'ink' : 'off' }
  })
}

function TodayFigure({ today }: { readonly today: HomeData['today'] }) {
  const said = home.today
  const hours = Array.from({ length: Math.max(HOURS_OF_DAY, today.by_hour.length) }, (_, hour) => ({
    value: today.by_hour[hour] ?? 0,
  }))
  return (
    <Figure
      label={said.label}
      value={formatCount(today.orders)}
      picture={<Sparkline ticks={hours} label={said.picture(today.orders)} width={168} height={16} />}
      note={today.orders === 0 ? said.none : said.states(today.delivered, today.paid, today.cancelled)}
    />
  )
}

function DeliveryFigure({ delivery }: { readonly delivery: HomeData['delivery'] }) {
  const said = home.delivery
  const { median_s, p95_s, histogram } = delivery
  if (median_s === null || p95_s === null)
    return <Figure label={said.label} value={words.none} note={said.none} />
  const [, amount = '', unit = ''] = /^([\d.]+) (\w+)$/.exec(formatDuration(median_s * 1000)) ?? []
  return (
    <Figure
      label={said.label}
      value={amount || formatDuration(median_s * 1000)}
      unit={`${unit} ${said.median}`.trim()}
      picture={
        <Sparkline
          ticks={histogram.map((value) => ({ value }))}
          label={said.picture}
          width={168}
          height={16}
        />
      }
      note={said.p95(formatDuration(p95_s * 1000))}
    />
  )
}

function WebhookFigure({ webhook }: { readonly webhook: HomeData['webhook'] }) {
  const said = home.webhook
  if (webhook === null) {
    return (
      <Figure
        label={said.label}
        value={words.none}
        note={
          <>
            {said.none}. <AppLink to={paths.webhook}>{said.setUp}</AppLink>
          </>
        }
      />
    )
  }
  const { events, accepted_first, retrying, failed, by_hour } = webhook
  return (
    <Figure
      label={said.label}
      value={events === 0 ? words.none : percent(accepted_first, events)}
      {...(events === 0 ? {} : { unit: said.first })}
      picture={
        <Sparkline
          as="ticks"
          ticks={by_hour.map((hour) => ({ value: 1, tone: toneOf(hour) }))}
          label={said.picture}
          width={168}
          height={16}
        />
      }
      note={
        events === 0 ? (
          said.quiet
        ) : retrying + failed === 0 ? (
          said.fine(events)
        ) : (
          <>
            {retrying > 0 ? <span className={classes.warn}>{said.retrying(retrying)}</span> : null}
            {retrying > 0 && failed > 0 ? ', ' : null}
            {failed > 0 ? <span className={classes.bad}>{said.failed(failed)}</span> : null}
            {said.in24h}
          </>
        )
      }
    />
  )
}

/** Never rounded up to 100: that would hide what failed. */
const percent = (part: number, all: number) =>
  part === all ? '100' : (Math.floor((part / all) * 1000) / 10).toFixed(1)

function toneOf({
  events,
  retrying,
  failed,
}: NonNullable<HomeData['webhook']>['by_hour'][number]): NonNullable<Tick['tone']> {
  if (failed > 0) return 'bad'
  if (retrying > 0) return 'warn'
  return events > 0 ? 'quiet' : 'off'
}
