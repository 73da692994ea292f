import { Button, Group, Radio, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Dialog, DialogActions, Facts } from '#kit/components/feedback/dialogs.tsx'
import { formatCount } from '#lib/money.ts'
import { zone, zoneName } from '#lib/time.ts'
import type { Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { deliveries } from '../../strings/deliveries.ts'
import classes from './deliveries.module.css'

const { recoverDialog: text } = deliveries
const HOUR_MS = 3_600_000
const DAYS_MAX = 7
const [ALL, PERIOD] = ['all', 'period']

interface RecoverDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** Says what was given up, or was never accepted in a period, and sends exactly that. */
export function RecoverDialog({ isOpen, onClose }: RecoverDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={text.title} lead={text.lead} size={520}>
      {isOpen ? <RecoverForm onClose={onClose} /> : null}
    </Dialog>
  )
}

function RecoverForm({ onClose }: { readonly onClose: () => void }) {
  const [isAll, setAll] = useState(true)
  const [from, setFrom] = useState(() => local(Date.now() - 24 * HOUR_MS))
  const [to, setTo] = useState(() => local(Date.now() + 60_000))
  const period = isAll ? {} : periodOf(from, to)
  const { data, error } = useRead('previewRecover', { query: period }, { enabled: period !== undefined })
  const recover = useAct('recoverEvents', {
    refresh: ['listDeliveries', 'getWebhook', 'deliveryHours', 'previewRecover', 'getDelivery'],
    done: ({ sent, remaining }) => [text.sent(sent), text.sentMore(remaining)],
    failed: text.notSent,
    onDone: onClose,
  })
  const setPeriod = (start: string, end: string) => {
    setFrom(start)
    setTo(end)
  }
  const preview = period ? data : undefined
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (period && preview && preview.total > 0) recover.mutate(period)
      }}
    >
      <Radio.Group
        value={isAll ? ALL : PERIOD}
        onChange={(value) => setAll(value === ALL)}
        aria-label={text.which}
        mb="sm"
      >
        <Group gap="md">
          <Radio value={ALL} label={text.all} />
          <Radio value={PERIOD} label={text.period} />
        </Group>
      </Radio.Group>
      {isAll ? null : <PeriodFields from={from} to={to} onChange={setPeriod} />}
      <div className={classes.preview} aria-live="polite">
        {period === undefined ? (
          <p className={classes.problem}>{text.wrongPeriod}</p>
        ) : error ? (
          <p className={classes.problem}>{error.message}</p>
        ) : preview ? (
          <Preview preview={preview} nothing={isAll ? text.nothingGivenUp : text.nothing} />
        ) : (
          <p className="sw-quiet">{text.counting}</p>
        )}
      </div>
      <DialogActions>
        <Button onClick={onClose} data-autofocus>
          {text.keep}
        </Button>
        <Button
          type="submit"
          variant="filled"
          disabled={!preview || preview.total === 0}
          loading={recover.isPending}
        >
          {text.confirm(preview?.sends_now ?? 0)}
        </Button>
      </DialogActions>
    </form>
  )
}

interface PeriodProps {
  readonly from: string
  readonly to: string
  readonly onChange: (from: string, to: string) => void
}

/** A beginning and an end, or the last hour, day or week. */
function PeriodFields({ from, to, onChange }: PeriodProps) {
  const chooseLast = (hours: number) =>
    onChange(local(Date.now() - hours * HOUR_MS), local(Date.now() + 60_000))
  return (
    <>
      <div className={classes.period}>
        <TextInput
          type="datetime-local"
          label={text.from(zoneName())}
          value={from}
          onChange={(event) => onChange(event.currentTarget.value, to)}
        />
        <TextInput
          type="datetime-local"
          label={text.to(zoneName())}
          value={to}
          onChange={(event) => onChange(from, event.currentTarget.value)}
        />
      </div>
      <Group gap={8} mt="xs">
        <span className="sw-quiet">{text.last}</span>
        <Button size="compact-xs" onClick={() => chooseLast(1)}>
          {text.hour}
        </Button>
        <Button size="compact-xs" onClick={() => chooseLast(24)}>
          {text.day}
        </Button>
        <Button size="compact-xs" onClick={() => chooseLast(DAYS_MAX * 24)}>
          {text.week}
        </Button>
      </Group>
    </>
  )
}

interface PreviewProps {
  readonly preview: Reply<'previewRecover'>
  readonly nothing: string
}

function Preview({ preview, nothing }: PreviewProps) {
  const { total, sends_now, counts } = preview
  if (total === 0) return <p className="sw-dim">{nothing}</p>
  return (
    <>
      <Facts
        facts={[
          ...counts.map(({ type, state, events }) => ({
            key: `${type} ${state}`,
            label: (
              <>
                <span className="sw-mono">{type}</span>, {text.reasons[state]}
              </>
            ),
            value: formatCount(events),
          })),
          { label: text.total, value: formatCount(sends_now), isSum: true },
        ]}
      />
      <p className={classes.note}>
        {sends_now < total ? `${text.limited(formatCount(sends_now), formatCount(total))} ` : ''}
        {text.pace}
      </p>
    </>
  )
}

/** For an input, in the zone that times are shown in: `2026-11-15T14:32`. */
function local(ms: number): string {
  const offsetMs = zone() === 'UTC' ? 0 : new Date(ms).getTimezoneOffset() * 60_000
  return new Date(ms - offsetMs).toISOString().slice(0, 16)
}

function periodOf(from: string, to: string): { from: string; to: string } | undefined {
  const suffix = zone() === 'UTC' ? 'Z' : ''
  const [start, end] = [Date.parse(`${from}${suffix}`), Date.parse(`${to}${suffix}`)]
  if (Number.isNaN(start) || Number.isNaN(end)) return undefined
  if (end <= start || end - start > DAYS_MAX * 24 * HOUR_MS + 60_000) return undefined
  // A whole week and the present minute: the limit counts from the end.
  const first = Math.max(start, end - DAYS_MAX * 24 * HOUR_MS)
  return { from: new Date(first).toISOString(), to: new Date(end).toISOString() }
}
