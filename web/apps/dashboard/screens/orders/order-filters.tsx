import { Radio, Stack } from '@mantine/core'
import { choiceFilter, type Filter, type FilterEdit, textFilter } from '#kit/components/lists/filter-bar.tsx'
import { amountFilter, days, RangeEditor } from '#kit/components/lists/range-filters.tsx'
import { useRead } from '../../api/hooks.ts'
import { orders } from '../../strings/orders.ts'
import { shownRange } from './order-query.ts'
import classes from './orders.module.css'

const { filters } = orders

const created: Filter = {
  label: filters.created,
  names: ['created', 'from', 'to'],
  shown: shownRange,
  editor: (edit) => <CreatedEditor {...edit} />,
}

const total = amountFilter(filters.total, ['min', 'max'])
const item = textFilter(filters.item, 'item', filters.itemHint)

/** Keys are few, so they are offered by name. */
export function useOrderFilters(): readonly Filter[] {
  const { data } = useRead('listKeys')
  const keys = (data?.keys ?? []).map(
    ({ id, name, revoked_at }) => [id, `${name}${revoked_at === null ? '' : filters.revoked}`] as const,
  )
  return [created, total, item, ...(keys.length > 0 ? [choiceFilter(filters.key, 'key', keys)] : [])]
}

function CreatedEditor(edit: FilterEdit) {
  const { values, set, close } = edit
  return (
    <div className={classes.editor}>
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
      <RangeEditor {...edit} ends={days} names={['from', 'to']} replaces={['created']} />
    </div>
  )
}
