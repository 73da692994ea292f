import { Button, TextInput, type TextInputProps } from '@mantine/core'
import { useState } from 'react'
import { editable, formatMoney, parseDollars } from '#lib/money.ts'
import { dayInWords, isDay, parseDay } from '#lib/time.ts'
import { words } from '../../words.ts'
import classes from './filter-bar.module.css'
import type { Filter, FilterEdit } from './filter-bar.tsx'

const { filter: said } = words
type Names = readonly [least: string, most: string]

/** What the two ends of a range are: as the address has them, as a person writes them, and in words. */
interface Ends {
  readonly labels: readonly [string, string]
  readonly wrong: string
  readonly field: TextInputProps
  /** Of the address: what does not fit is neither shown nor edited. */
  readonly fits: (value: string) => boolean
  readonly inWords: (value: string) => string
  readonly written: (value: string) => string
  readonly read: (text: string) => string | undefined
}

const amounts: Ends = {
  labels: [said.least, said.most],
  wrong: said.wrongAmount,
  field: { inputMode: 'decimal', leftSection: '$' },
  fits: (cents) => /^\d{1,12}$/.test(cents),
  inWords: (cents) => formatMoney(Number(cents)),
  written: (cents) => editable(Number(cents)),
  read: (text) => parseDollars(text)?.toString(),
}

/** Written as they are shown: a browser's own field would show the month first to some readers. */
export const days: Ends = {
  labels: [said.from, said.to],
  wrong: said.wrongDay,
  field: { placeholder: said.dayExample },
  fits: isDay,
  inWords: dayInWords,
  written: dayInWords,
  read: parseDay,
}

const rangeFilter = (ends: Ends, label: string, names: Names): Filter => ({
  label,
  names,
  shown: (values) => rangeInWords(ends, names.map((name) => values[name]) as [string?, string?]),
  editor: (edit) => <RangeEditor ends={ends} names={names} {...edit} />,
})

/** In cents in the address. */
export const amountFilter = (label: string, names: Names): Filter => rangeFilter(amounts, label, names)

/** `2026-11-15` in the address. */
export const dayFilter = (label: string, names: Names): Filter => rangeFilter(days, label, names)

export function rangeInWords(ends: Ends, values: readonly [string?, string?]): string | undefined {
  const [least, most] = values.map((value) =>
    value !== undefined && ends.fits(value) ? ends.inWords(value) : undefined,
  )
  if (least !== undefined && most !== undefined) return said.between(least, most)
  if (least !== undefined) return said.atLeast(least)
  return most === undefined ? undefined : said.atMost(most)
}

interface RangeEditorProps extends FilterEdit {
  readonly ends: Ends
  readonly names: Names
  /** Other names of the address that a range replaces. */
  readonly replaces?: readonly string[]
}

export function RangeEditor({ ends, names, replaces = [], values, set, close }: RangeEditorProps) {
  const [texts, setTexts] = useState(() =>
    names.map((name) => values[name] ?? '').map((value) => (ends.fits(value) ? ends.written(value) : '')),
  )
  const [isTried, setTried] = useState(false)
  const read = texts.map((text) => (text.trim() === '' ? '' : ends.read(text)))
  return (
    <form
      className={classes.range}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (read.includes(undefined)) return
        const chosen = names.map((name, n) => [name, read[n] || undefined])
        set(Object.fromEntries([...replaces.map((name) => [name, undefined]), ...chosen]))
        close()
      }}
    >
      {names.map((name, n) => (
        <TextInput
          key={name}
          label={ends.labels[n]}
          value={texts[n] ?? ''}
          onChange={(event) => setTexts(texts.with(n, event.currentTarget.value))}
          error={isTried && read[n] === undefined ? ends.wrong : undefined}
          autoComplete="off"
          {...ends.field}
          {...(n === 0 ? { 'data-autofocus': true } : {})}
        />
      ))}
      <Button type="submit">{said.apply}</Button>
    </form>
  )
}
