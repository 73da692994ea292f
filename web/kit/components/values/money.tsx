import { formatChange, formatMoney, splitMoney } from '#lib/money.ts'
import classes from './money.module.css'

interface MoneyProps {
  readonly cents: number
  /** `plain`: $57.96. `change`: +$9.99 in green, −$57.96. `headline`: the cents in a lighter colour. */
  readonly as?: 'plain' | 'change' | 'headline'
  readonly size?: 'body' | 'sum' | 'figure' | 'balance'
}

/** An amount, from integer cents. */
export function Money({ cents, as = 'plain', size = 'body' }: MoneyProps) {
  if (as === 'headline') {
    const [dollars, rest] = splitMoney(cents)
    return (
      <span className={classes.money} data-size={size}>
        {dollars}
        <span className={classes.cents}>{rest}</span>
      </span>
    )
  }
  return (
    <span
      className={classes.money}
      data-size={size}
      data-gain={as === 'change' && cents > 0 ? true : undefined}
    >
      {as === 'change' ? formatChange(cents) : formatMoney(cents)}
    </span>
  )
}
