import { Tabs } from '@mantine/core'
import { CodeWell, SnippetTabs } from '#kit/components/values/code-well.tsx'
import { formatCount } from '#lib/money.ts'
import { formatDuration } from '#lib/time.ts'
import { deliveries } from '../../strings/deliveries.ts'
import classes from './deliveries.module.css'
import { diagnosisOf, statusLine } from './diagnosis.ts'
import { type Attempt, type Delivery, headerOf, opensslOf, pretty, shopwireOf } from './snippets.ts'

const { panel, verify } = deliveries

/** What one attempt sent and got, and how to check its signature. */
export function AttemptTabs({
  delivery,
  attempt,
}: {
  readonly delivery: Delivery
  readonly attempt: Attempt | undefined
}) {
  if (!attempt) return delivery.body ? <Request delivery={delivery} attempt={undefined} /> : null
  return (
    <Tabs defaultValue="answer" keepMounted={false} className={classes.tabs}>
      <Tabs.List aria-label={panel.tabs}>
        <Tabs.Tab value="request">{panel.request}</Tabs.Tab>
        <Tabs.Tab value="answer">{panel.answer}</Tabs.Tab>
        <Tabs.Tab value="verify">{panel.verify}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="request" pt="sm">
        <Request delivery={delivery} attempt={attempt} />
      </Tabs.Panel>
      <Tabs.Panel value="answer" pt="sm">
        <Answer attempt={attempt} />
        <Timings attempt={attempt} />
        <p className={classes.diagnosis}>{diagnosisOf(attempt.error)}</p>
      </Tabs.Panel>
      <Tabs.Panel value="verify" pt="sm">
        <Verify delivery={delivery} attempt={attempt} />
      </Tabs.Panel>
    </Tabs>
  )
}

function Request({
  delivery,
  attempt,
}: {
  readonly delivery: Delivery
  readonly attempt: Attempt | undefined
}) {
  const { body, deliveries: sent } = delivery
  const endpoint = sent.find(({ endpoint_id }) => endpoint_id === attempt?.endpoint_id)
  const url = endpoint ? new URL(endpoint.url.replace('?…', '')) : undefined
  const head = [
    ...(url ? [`POST ${url.pathname}${url.search} HTTP/1.1`] : []),
    ...(attempt?.request_headers ?? []).map(([name, value]) => `${name.toLowerCase()}: ${value}`),
  ].join('\n')
  return (
    <>
      {endpoint && !endpoint.is_current ? (
        <p className={classes.note}>
          {panel.otherUrl} <span className="sw-mono">{endpoint.url}</span>
        </p>
      ) : null}
      {head === '' ? null : <CodeWell code={head} language="http" what="headers" />}
      {body ? (
        <>
          <div className={classes.gap} />
          <CodeWell code={pretty(body.text)} copies={body.text} language="json" what="body" heightMax={320} />
          {body.masked_links > 0 ? <p className={classes.note}>{panel.masked(body.masked_links)}</p> : null}
        </>
      ) : (
        <p className={classes.note}>{panel.noBody}</p>
      )}
    </>
  )
}

function Answer({ attempt: { answer, status, error } }: { readonly attempt: Attempt }) {
  if (status === null) return <p className={classes.note}>{panel.nothingAnswered}</p>
  const text = [
    statusLine(status),
    ...(answer?.headers ?? []).map(([name, value]) => `${name}: ${value}`),
    ...(answer?.text ? ['', answer.text] : []),
  ].join('\n')
  return (
    <>
      <CodeWell code={text} language="http" what="answer" heightMax={260} />
      {answer?.is_cut ? <p className={classes.note}>{panel.cut}</p> : null}
      {answer === null && error === null ? <p className={classes.note}>{panel.noAnswerKept}</p> : null}
    </>
  )
}

/** One bar after the other, to one scale. */
function Timings({ attempt }: { readonly attempt: Attempt }) {
  const { connect_ms, send_ms, wait_ms } = attempt
  const parts = (
    [
      [panel.connect, connect_ms],
      [panel.send, send_ms],
      [panel.wait, wait_ms],
    ] as const
  ).flatMap(([name, ms]) => (ms === null ? [] : [{ name, ms }]))
  if (parts.length === 0) return null
  const all = Math.max(
    1,
    parts.reduce((sum, { ms }) => sum + ms, 0),
  )
  let before = 0
  return (
    <dl className={classes.timings} aria-label={panel.timings}>
      {parts.map(({ name, ms }) => {
        const [left, width] = [(before / all) * 100, (ms / all) * 100]
        before += ms
        return (
          <div key={name} className={classes.timing}>
            <dt>{name}</dt>
            <dd className={classes.track} aria-hidden>
              <span className={classes.bar} style={{ left: `${left}%`, width: `max(2px, ${width}%)` }} />
            </dd>
            <dd className={classes.ms}>
              {name === panel.connect && ms === 0 ? panel.reused : formatDuration(ms)}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

/** 64 characters do not fit beside the copy button. */
const halves = (hex: string) => `${hex.slice(0, 32)}\n${hex.slice(32)}`

function Verify({ delivery, attempt }: { readonly delivery: Delivery; readonly attempt: Attempt }) {
  const signature = headerOf(attempt, 'X-Webhook-Signature')
  const previous = headerOf(attempt, 'X-Webhook-Signature-Previous')
  if (signature === undefined) return <p className={classes.note}>{verify.nothing}</p>
  const { body, event } = delivery
  return (
    <>
      <p className={classes.lead}>{verify.lead}</p>
      <SnippetTabs
        label={verify.recipe}
        snippets={[
          { name: verify.shell, code: opensslOf(attempt, event.id), language: 'sh', what: 'command' },
          { name: verify.cli, code: shopwireOf(attempt), language: 'sh', what: 'command' },
        ]}
      />
      <p className={classes.lead}>{verify.expected}</p>
      <CodeWell code={halves(signature)} copies={signature} what="signature" />
      {previous === undefined ? null : (
        <>
          <p className={classes.lead}>{verify.previous}</p>
          <CodeWell code={halves(previous)} copies={previous} what="previous signature" />
        </>
      )}
      {body ? (
        <>
          <p className={classes.lead}>{verify.body(formatCount(body.bytes))}</p>
          <CodeWell code={halves(body.sha256)} copies={body.sha256} what="SHA-256" />
        </>
      ) : null}
      <ul className={classes.hints}>
        {verify.hints.map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
      </ul>
    </>
  )
}
