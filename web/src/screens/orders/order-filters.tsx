import { Button, Radio, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useRead } from '../../api/hooks.ts'
import { choiceFilter, type Filter, type FilterEdit, textFilter } from '../../components/lists/filter-bar.tsx'
import { words } from '../../strings/common.ts'
import { orders } from '../../strings/orders.ts'
import { editable, parseDollars } from '../balance/amounts.ts'
import { isCents, shownAmounts, shownRange } from './order-query.ts'
import classes from './orders.module.css'

const { filters } = orders

const created: Filter = {
  label: filters.created,
  names: ['created', 'from', 'to'],
  shown: shownRange,
  editor: (edit) => <CreatedEditor {...edit} />,
}

const total: Filter = {
  label: filters.total,
  names: ['min', 'max'],
  shown: shownAmounts,
  editor: (edit) => <TotalEditor {...edit} />,
}

const item = textFilter(filters.item, 'item', filters.itemHint)

/** Keys are few, so they are offered by name. */
export function useOrderFilters(): readonly Filter[] {
  const { data } = useRead('listKeys')
  const keys = (data?.keys ?? []).map(
    ({ id, name, revoked_at }) => [id, `${name}${revoked_at === null ? '' : filters.revoked}`] as const,
  )
  return [created, total, item, ...(keys.length > 0 ? [choiceFilter(filters.key, 'key', keys)] : [])]
}

function CreatedEditor({ values, set, close }: FilterEdit) {
  const [from, setFrom] = useState(values.from ?? '')
  const [to, setTo] = useState(values.to ?? '')
  return (
    <form
      className={classes.editor}
      onSubmit={(event) => {
        event.preventDefault()
        set({ from: from || undefined, to: to || undefined, created: undefined })
        close()
      }}
    >
      <Radio.Group
        value={values.created ?? ''}
        aria-label={filters.created}
        onChange={(value) => {
          set({ created: value, from: undefined, to: undefined })
          close()
        }}
      >
        <Stack gap={4}>
          {filters.ranges.map(([value, word]) => (
            <Radio key={value} value={value} label={word} />
          ))}
        </Stack>
      </Radio.Group>
      <div className={classes.pair}>
        <TextInput
          type="date"
          label={filters.from}
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
        />
        <TextInput
          type="date"
          label={filters.to}
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
      </div>
      <Button type="submit">{words.filter.apply}</Button>
    </form>
  )
}

function TotalEditor({ values, set, close }: FilterEdit) {
  const shown = (cents: string | undefined) => (isCents(cents) ? editable(Number(cents)) : '')
  const [least, setLeast] = useState(shown(values.min))
  const [most, setMost] = useState(shown(values.max))
  const isWrong = (text: string) => text.trim() !== '' && parseDollars(text) === undefined
  const cents = (text: string) => (text.trim() === '' ? undefined : String(parseDollars(text)))
  return (
    <form
      className={classes.editor}
      onSubmit={(event) => {
        event.preventDefault()
        if (isWrong(least) || isWrong(most)) return
        set({ min: cents(least), max: cents(most) })
        close()
      }}
    >
      <TextInput
        label={filters.least}
        inputMode="decimal"
        leftSection="$"
        value={least}
        onChange={(event) => setLeast(event.currentTarget.value)}
        error={isWrong(least) ? filters.wrongAmount : undefined}
        data-autofocus
      />
      <TextInput
        label={filters.most}
        inputMode="decimal"
        leftSection="$"
        value={most}
        onChange={(event) => setMost(event.currentTarget.value)}
        error={isWrong(most) ? filters.wrongAmount : undefined}
      />
      <Button type="submit">{words.filter.apply}</Button>
    </form>
  )
}
