import { Table } from '@mantine/core'
import { Section } from '#kit/components/feedback/page.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { webhook as text } from '../../strings/webhook.ts'
import classes from './webhook.module.css'
import type { Webhook } from './webhook-types.ts'

const { events } = text
const TYPES = Object.keys(events.meanings) as (keyof typeof events.meanings)[]

/** Which events there are, and which of them have happened. */
export function EventsSection({ webhook: { events_seen } }: { readonly webhook: Webhook }) {
  const seen = new Map(events_seen.map(({ type, last_at }) => [type, last_at]))
  return (
    <Section title={events.title}>
      <Table className={classes.events}>
        <caption className="sw-hidden">{events.caption}</caption>
        <thead>
          <tr>
            <th scope="col">{events.type}</th>
            <th scope="col">{events.when}</th>
            <th scope="col">{events.last}</th>
          </tr>
        </thead>
        <tbody>
          {TYPES.map((type) => {
            const last = seen.get(type)
            return (
              <tr key={type}>
                <th scope="row" className="sw-mono">
                  {type}
                </th>
                <td>{events.meanings[type]}</td>
                <td>
                  {last === undefined ? (
                    <span className="sw-quiet">{events.notYet}</span>
                  ) : (
                    <Time at={last} as="relative" />
                  )}
                </td>
              </tr>
            )
          })}
        </tbody>
      </Table>
    </Section>
  )
}
