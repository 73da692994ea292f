import { Menu, Skeleton } from '@mantine/core'
import { IconChevronDown } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Section } from '#kit/components/feedback/page.tsx'
import { formatCount, formatMoney } from '#lib/money.ts'
import { useUrlState } from '#lib/url-state.ts'
import type { Reply } from '../../api/client.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'
import { lastDayBefore, monthName, monthsBetween, presentMonth, utcDay } from './months.ts'

const { month: said } = balance

/** Opening + top-ups + refunds − orders = closing, from the same integers that the statement lists. */
export function MonthSection({
  month: shown,
  view,
  children,
}: {
  readonly month: string
  /** Undefined while loading. */
  readonly view: Reply<'getBalance'> | undefined
  readonly children: ReactNode
}) {
  const [, set] = useUrlState()
  const present = presentMonth()
  const months = view ? monthsBetween(view.first_month, present) : [shown]
  return (
    <Section
      title={monthName(shown)}
      hasLine
      aside={
        <Menu position="bottom-end">
          <Menu.Target>
            <button type="button" className={classes.link}>
              {said.change}
              <IconChevronDown size={14} aria-hidden />
            </button>
          </Menu.Target>
          <Menu.Dropdown className={classes.months}>
            {months.map((month) => (
              <Menu.Item
                key={month}
                aria-current={month === shown || undefined}
                onClick={() => set({ month: month === present ? undefined : month })}
              >
                {monthName(month)}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      }
    >
      {view ? <Equation sums={view.month} /> : <Skeleton height={90} radius="sm" />}
      {children}
    </Section>
  )
}

function Equation({ sums }: { readonly sums: Sums }) {
  return (
    <dl className={classes.equation}>
      {termsOf(sums).map(({ label, value, sign }) => (
        <div key={label} className={classes.term}>
          <dt>
            {sign === undefined ? null : (
              <>
                <span className={classes.sign} aria-hidden>
                  {sign}
                </span>
                <span className="sw-hidden">{SIGNS[sign]} </span>
              </>
            )}
            {label}
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

type Sums = Reply<'getBalance'>['month']
type Sign = '+' | '−' | '='

const SIGNS: Readonly<Record<Sign, string>> = { '+': said.plus, '−': said.minus, '=': said.equals }

function termsOf(sums: Sums): { label: string; value: string; sign?: Sign }[] {
  const { adjustments_cents: adjusted } = sums
  return [
    { label: said.opening(utcDay(sums.from)), value: formatMoney(sums.opening_cents) },
    {
      label: said.topUps(formatCount(sums.top_ups_count)),
      value: formatMoney(sums.top_ups_cents),
      sign: '+',
    },
    {
      label: said.refunds(formatCount(sums.refunds_count)),
      value: formatMoney(sums.refunds_cents),
      sign: '+',
    },
    // Rare, and left out of the sum only when it adds nothing.
    ...(sums.adjustments_count === 0
      ? []
      : [
          {
            label: said.adjustments(formatCount(sums.adjustments_count)),
            value: formatMoney(Math.abs(adjusted)),
            sign: adjusted < 0 ? ('−' as const) : ('+' as const),
          },
        ]),
    { label: said.orders(formatCount(sums.orders_count)), value: formatMoney(sums.orders_cents), sign: '−' },
    {
      label: sums.is_current ? said.closingNow : said.closing(lastDayBefore(sums.to)),
      value: formatMoney(sums.closing_cents),
      sign: '=',
    },
  ]
}
