import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Reply } from '../../api/client.ts'
import { choiceFilter, type Filter, type FilterEdit } from '../../components/lists/filter-bar.tsx'
import { formatCount, formatMoney } from '../../lib/money.ts'
import { catalogue } from '../../strings/catalogue.ts'
import { words } from '../../strings/common.ts'
import classes from './catalogue.module.css'

const { filters, types } = catalogue
/** More would be a list to search in, not one to choose from. */
const COLLECTIONS_MAX = 30

export function filtersOf(summary: Reply<'catalogueSummary'> | undefined): readonly Filter[] {
  return [
    choiceFilter(
      filters.type,
      'type',
      (summary?.types ?? []).map(({ type, items }) => [type, `${types[type]} (${formatCount(items)})`]),
    ),
    choiceFilter(
      filters.collection,
      'collection',
      (summary?.collections ?? [])
        .slice(0, COLLECTIONS_MAX)
        .map(({ name, items }) => [name, `${name} (${formatCount(items)})`]),
    ),
    choiceFilter(filters.sellable, 'sellable', filters.sellables),
    price,
  ]
}

/** In cents in the address. */
const price: Filter = {
  label: filters.price,
  names: ['least', 'most'],
  shown: ({ least, most }) => {
    const [from, to] = [least, most].map((cents) =>
      cents === undefined ? undefined : formatMoney(Number(cents)),
    )
    if (from !== undefined && to !== undefined) return filters.between(from, to)
    if (from !== undefined) return filters.from(from)
    return to === undefined ? undefined : filters.upTo(to)
  },
  editor: (edit) => <PriceEditor {...edit} />,
}

function PriceEditor({ values, set, close }: FilterEdit) {
  const [least, setLeast] = useState(dollars(values.least))
  const [most, setMost] = useState(dollars(values.most))
  const [from, to] = [cents(least), cents(most)]
  const isWrong = from === undefined || to === undefined
  return (
    <form
      className={classes.price}
      onSubmit={(event) => {
        event.preventDefault()
        if (isWrong) return
        set({ least: from || undefined, most: to || undefined })
        close()
      }}
    >
      <TextInput
        label={filters.least}
        value={least}
        onChange={(event) => setLeast(event.currentTarget.value)}
        leftSection="$"
        inputMode="decimal"
        error={from === undefined ? filters.wrong : undefined}
        data-autofocus
      />
      <TextInput
        label={filters.most}
        value={most}
        onChange={(event) => setMost(event.currentTarget.value)}
        leftSection="$"
        inputMode="decimal"
        error={to === undefined ? filters.wrong : undefined}
      />
      <Button type="submit" disabled={isWrong}>
        {words.filter.apply}
      </Button>
    </form>
  )
}

const dollars = (text: string | undefined) =>
  text === undefined || !/^\d+$/.test(text)
    ? ''
    : `${text.slice(0, -2) || '0'}.${text.slice(-2).padStart(2, '0')}`

/** Cents as the address has them; empty for no limit, undefined for what is no amount. */
function cents(text: string): string | undefined {
  const [all, whole = '', part = ''] = /^(\d{0,7})(?:\.(\d{1,2}))?$/.exec(text.trim()) ?? []
  if (all === undefined) return undefined
  return all === '' ? '' : String(Number(`${whole || '0'}${part.padEnd(2, '0')}`))
}
