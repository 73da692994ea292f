import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Query } from '../../api/client.ts'
import type { Filter, FilterEdit } from '../../components/filter-bar.tsx'
import { formatMoney } from '../../lib/money.ts'
import { formatDay } from '../../lib/time.ts'
import type { UrlValues } from '../../lib/url-state.ts'
import { words } from '../../strings/common.ts'
import { orders } from '../../strings/orders.ts'
import classes from './orders.module.css'

const STATUSES = ['paid', 'delivered', 'cancelled'] as const
const DAY_MS = 86_400_000

/** The address as the query of the list. What does not fit is left out, never sent. */
export function listQuery(url: UrlValues): Query<'listOrders'> {
  const status = STATUSES.find((known) => known === url.status)
  const from = startOf(url.from)
  const lastDay = startOf(url.to)
  const [min, max] = [centsOf(url.min), centsOf(url.max)]
  return {
    ...(status && { status }),
    ...(url.q && { q: url.q.slice(0, 100) }),
    ...(from && { from: from.toISOString() }),
    // The day itself belongs to it.
    ...(lastDay && { to: new Date(lastDay.getTime() + DAY_MS).toISOString() }),
    ...(min === undefined ? {} : { min_cents: min }),
    ...(max === undefined ? {} : { max_cents: max }),
    ...(url.key && { key_id: url.key.slice(0, 60) }),
    ...(url.item && /^\d{17,20}$/.test(url.item) && { item_id: url.item }),
    ...(url.before && { before: url.before }),
    ...(url.after && { after: url.after }),
  }
}

export const isFiltered = (url: UrlValues): boolean =>
  [url.status, url.q, url.from, url.to, url.min, url.max, url.key, url.item].some(
    (value) => value !== undefined,
  )

/** In the reader's zone: the day that they mean. */
function startOf(day: string | undefined): Date | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day ?? '') ? new Date(`${day}T00:00:00`) : undefined
  return at && !Number.isNaN(at.getTime()) ? at : undefined
}

/** Dollars in the address and in the field, cents in the query. */
function centsOf(text: string | undefined): number | undefined {
  const [, dollars, cents = ''] = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(text ?? '') ?? []
  return dollars === undefined ? undefined : Number(dollars) * 100 + Number(cents.padEnd(2, '0'))
}

export const dayFilter = (label: string, name: 'from' | 'to'): Filter => ({
  label,
  names: [name],
  shown: (values) => {
    const day = startOf(values[name])
    return day && formatDay(day.toISOString())
  },
  editor: (edit) => <FieldsEditor {...edit} fields={[{ name, label: orders.filters.day, type: 'date' }]} />,
})

export const totalFilter = (label: string): Filter => ({
  label,
  names: ['min', 'max'],
  shown: ({ min, max }) => {
    const [least, most] = [centsOf(min), centsOf(max)]
    if (least === undefined && most === undefined) return undefined
    if (most === undefined) return `≥ ${formatMoney(least ?? 0)}`
    return least === undefined ? `≤ ${formatMoney(most)}` : `${formatMoney(least)} to ${formatMoney(most)}`
  },
  editor: (edit) => (
    <FieldsEditor
      {...edit}
      fields={[
        { name: 'min', label: orders.filters.least, type: 'text' },
        { name: 'max', label: orders.filters.most, type: 'text' },
      ]}
    />
  ),
})

interface Field {
  readonly name: string
  readonly label: string
  readonly type: 'date' | 'text'
}

function FieldsEditor({ values, set, close, fields }: FilterEdit & { readonly fields: readonly Field[] }) {
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(fields.map(({ name }) => [name, values[name] ?? ''])),
  )
  return (
    <form
      className={classes.editor}
      onSubmit={(event) => {
        event.preventDefault()
        set(
          Object.fromEntries(
            fields.map(({ name }) => [name, texts[name]?.trim().replace(/^\$/, '') || undefined]),
          ),
        )
        close()
      }}
    >
      {fields.map(({ name, label, type }, index) => (
        <TextInput
          key={name}
          type={type}
          label={label}
          placeholder={type === 'text' ? '0.00' : undefined}
          inputMode={type === 'text' ? 'decimal' : undefined}
          value={texts[name] ?? ''}
          onChange={({ currentTarget }) => setTexts({ ...texts, [name]: currentTarget.value })}
          data-autofocus={index === 0 || undefined}
        />
      ))}
      <Button type="submit">{words.filter.apply}</Button>
    </form>
  )
}
