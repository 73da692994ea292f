import { Button, CloseButton, Popover, Radio, Stack, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useKeys } from '#lib/keyboard.ts'
import { type UrlValues, useUrlState } from '#lib/url-state.ts'
import { words } from '../../words.ts'
import classes from './filter-bar.module.css'
import { Key } from './pager.tsx'

/** One filter. Its value is one or more names in the address. */
export interface Filter {
  readonly label: string
  /** Names in the address that it owns: removed together. */
  readonly names: readonly string[]
  /** The value in words, or undefined when it is not set. */
  readonly shown: (values: UrlValues) => string | undefined
  readonly editor: (edit: FilterEdit) => ReactNode
}

export interface FilterEdit {
  readonly values: UrlValues
  readonly set: (change: UrlValues) => void
  readonly close: () => void
}

/** One of a few values. */
export function choiceFilter(
  label: string,
  name: string,
  options: readonly (readonly [value: string, word: string])[],
): Filter {
  return {
    label,
    names: [name],
    shown: (values) => options.find(([value]) => value === values[name])?.[1] ?? values[name],
    editor: (edit) => <ChoiceEditor label={label} name={name} options={options} {...edit} />,
  }
}

interface ChoiceEditorProps extends FilterEdit {
  readonly label: string
  readonly name: string
  readonly options: readonly (readonly [value: string, word: string])[]
}

/** An arrow key marks the next choice and goes on from there; a press of the pointer, Space or Enter is the last one. */
function ChoiceEditor({ label, name, options, values, set, close }: ChoiceEditorProps) {
  const isByArrow = useRef(false)
  return (
    <Radio.Group
      value={values[name] ?? ''}
      onChange={(value) => {
        set({ [name]: value })
        if (!isByArrow.current) close()
      }}
      aria-label={label}
    >
      <Stack
        gap={4}
        onKeyDown={({ key, target }) => {
          isByArrow.current = key.startsWith('Arrow')
          const isMarked = target instanceof HTMLInputElement && target.checked
          if (isMarked && (key === 'Enter' || key === ' ')) close()
        }}
        onKeyUp={() => {
          isByArrow.current = false
        }}
      >
        {options.map(([value, word]) => (
          <Radio key={value} value={value} label={word} className={classes.option} />
        ))}
      </Stack>
    </Radio.Group>
  )
}

/** Free text, such as an id. */
export function textFilter(label: string, name: string, placeholder = ''): Filter {
  return {
    label,
    names: [name],
    shown: (values) => values[name],
    editor: (edit) => <TextEditor label={label} name={name} placeholder={placeholder} {...edit} />,
  }
}

function TextEditor({
  label,
  name,
  placeholder,
  values,
  set,
  close,
}: FilterEdit & { readonly label: string; readonly name: string; readonly placeholder: string }) {
  const [text, setText] = useState(values[name] ?? '')
  return (
    <form
      className={classes.text}
      onSubmit={(event) => {
        event.preventDefault()
        set({ [name]: text.trim() || undefined })
        close()
      }}
    >
      <TextInput
        aria-label={label}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        data-autofocus
      />
      <Button type="submit">{words.filter.apply}</Button>
    </form>
  )
}

interface FilterBarProps {
  readonly filters: readonly Filter[]
  /** A search field before the filters; `/` goes there. */
  readonly search?: { readonly name: string; readonly placeholder: string }
  /** On the right: <NewPill>, <LiveMark>. */
  readonly aside?: ReactNode
}

/** Unset filters are dashed, set ones solid with their value in accent and a cross. All state is in the address. */
export function FilterBar({ filters, search, aside }: FilterBarProps) {
  const [values, set] = useUrlState()
  const bar = useRef<HTMLFieldSetElement>(null)
  const isAnySet =
    filters.some(({ shown }) => shown(values) !== undefined) || (search && values[search.name] !== undefined)
  useKeys({ f: () => bar.current?.querySelector<HTMLElement>('[data-filter]')?.focus() })
  const clear = () =>
    set(
      Object.fromEntries(
        [...filters.flatMap(({ names }) => names), ...(search ? [search.name] : [])].map((name) => [
          name,
          undefined,
        ]),
      ),
    )
  return (
    <div className={classes.bar}>
      <fieldset ref={bar} className={classes.filters} aria-label="Filters">
        {search ? <SearchField {...search} /> : null}
        {filters.map((filter) => (
          <FilterButton key={filter.label} filter={filter} values={values} set={set} />
        ))}
        {isAnySet ? (
          <button type="button" className={classes.clear} onClick={clear}>
            {words.clear}
          </button>
        ) : null}
      </fieldset>
      {aside ? <div className={classes.aside}>{aside}</div> : null}
    </div>
  )
}

function SearchField({ name, placeholder }: { readonly name: string; readonly placeholder: string }) {
  const [values, set] = useUrlState()
  const value = values[name] ?? ''
  const [text, setText] = useState(value)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => setText(value), [value])
  useKeys({ '/': () => input.current?.focus() })
  const apply = (next: string) => set({ [name]: next.trim() || undefined })
  return (
    <form
      role="search"
      className={classes.search}
      onSubmit={(event) => {
        event.preventDefault()
        apply(text)
      }}
    >
      <TextInput
        ref={input}
        aria-label={placeholder}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={() => text.trim() !== value && apply(text)}
        leftSection={<IconSearch size={14} aria-hidden />}
        rightSection={
          text ? (
            <CloseButton
              size="xs"
              aria-label={words.clear}
              onClick={() => {
                setText('')
                apply('')
              }}
            />
          ) : (
            <Key>/</Key>
          )
        }
      />
    </form>
  )
}

function FilterButton({
  filter,
  values,
  set,
}: {
  readonly filter: Filter
  readonly values: UrlValues
  readonly set: (change: UrlValues) => void
}) {
  const [isOpen, setOpen] = useState(false)
  const shown = filter.shown(values)
  const close = () => setOpen(false)
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" trapFocus returnFocus withinPortal>
      <div className={classes.filter} data-set={shown !== undefined || undefined}>
        <Popover.Target>
          <button
            type="button"
            data-filter
            className={classes.button}
            onClick={() => setOpen(!isOpen)}
            aria-label={shown === undefined ? words.filter.edit(filter.label) : undefined}
          >
            {filter.label}
            {shown !== undefined ? (
              <>
                {' '}
                <span className={classes.value}>{shown}</span>
              </>
            ) : null}
          </button>
        </Popover.Target>
        {shown !== undefined ? (
          <CloseButton
            size={24}
            iconSize={14}
            aria-label={words.filter.remove(filter.label)}
            onClick={() => set(Object.fromEntries(filter.names.map((name) => [name, undefined])))}
          />
        ) : null}
      </div>
      <Popover.Dropdown aria-label={words.filter.edit(filter.label)}>
        {filter.editor({ values, set, close })}
      </Popover.Dropdown>
    </Popover>
  )
}
