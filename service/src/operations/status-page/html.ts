import type { Incident, StatusDay, StatusDocument } from './document.ts'
import { HISTORY_DAYS, PARTS } from './history.ts'
import { MARK } from './look.generated.ts'
import {
  DAY_KINDS,
  describeDay,
  duration,
  escaped,
  headline,
  kindOf,
  LATE,
  longDate,
  longTime,
  MEANWHILE,
  minutesBetween,
  PART_NAMES,
  PART_STATES,
  titleOf,
} from './words.ts'

const SIGN = `<svg viewBox="0 0 ${MARK.box} ${MARK.box}" aria-hidden="true"><rect width="${MARK.box}" height="${MARK.box}" rx="${MARK.radius}"/><path d="${MARK.wire}" stroke-width="${MARK.strokeWidth}"/></svg>`

/** Where the store is, and whom to ask. */
export interface Place {
  /** The host of the API; undefined while its address is not set. */
  readonly host: string | undefined
  /** The base URL of the API; see `host`. */
  readonly apiUrl: string | undefined
  readonly contact: string | undefined
  /** Whether the API is asked there how it is. */
  readonly isAsked: boolean
}

/**
 * Without scripts and inline styles, so that it can be served under any content security policy that allows its own style sheet. It is
 * well-formed XML too. Without the style sheet it is headings, paragraphs and lists.
 */
export function statusHtml(status: StatusDocument, place: Place): string {
  const title = `Status of ${escaped(place.host ?? 'the store')}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'"/>
<title>${escaped(headline(status))} – ${title}</title>
<link rel="stylesheet" href="status.css"/>
<link rel="alternate" type="application/atom+xml" title="Incidents and planned closings" href="feed.xml"/>
<link rel="alternate" type="application/json" title="This page as JSON" href="status.json"/>
</head>
<body>
<main>
<h1>${SIGN}${title}</h1>
${presentSection(status)}
${writtenParagraph(status, place)}
<h2>Parts</h2>
<dl class="parts">
${PARTS.map((part) => partRow(PART_NAMES[part], status.parts[part])).join('\n')}
</dl>
${status.orders_late ? `<p>${LATE}</p>` : ''}
<h2>Planned closings</h2>
${plannedList(status)}
<h2>The last ${HISTORY_DAYS} days</h2>
${daysSection(status.days)}
<h2>Incidents</h2>
${incidentList(status)}
</main>
<footer>
<p>${footerLinks(place)}</p>
</footer>
</body>
</html>
`
}

function presentSection(status: StatusDocument): string {
  const { reason, since, opens_at, state } = status.store
  const kind = state !== 'open' ? 'closed' : status.status === 'degraded' ? 'degraded' : 'well'
  const meanwhile = MEANWHILE[state]
  const lines = [
    `<p class="headline ${kind}"><strong>${escaped(headline(status))}.</strong></p>`,
    ...(reason === null ? [] : [`<p>Reason: ${escaped(reason)}</p>`]),
    ...(since === null ? [] : [`<p>Since ${time(since)}.</p>`]),
    ...(opens_at === null ? [] : [`<p>It opens by itself at ${time(opens_at)}.</p>`]),
    ...(state === 'closed' ? ['<p>When it opens is not known yet.</p>'] : []),
    ...(meanwhile === undefined ? [] : [`<p>${escaped(meanwhile)}</p>`]),
  ]
  return `<div class="present">\n${lines.join('\n')}\n</div>`
}

function writtenParagraph({ written_at, stale_after_s }: StatusDocument, { contact }: Place): string {
  const whom = contact === undefined ? 'the people who run the store' : escaped(contact)
  return `<p class="written">Written ${time(written_at, true)}. The store writes this page every minute. If that is more than ${stale_after_s / 60} minutes ago,
the page does not say how the store is now: ask ${whom}.</p>`
}

const partRow = (name: string, state: keyof typeof PART_STATES) =>
  `<div class="${state}"><dt>${name}</dt><dd>${PART_STATES[state]}</dd></div>`

function plannedList({ planned }: StatusDocument): string {
  if (planned.length === 0) return '<p>None.</p>'
  const rows = planned.map(
    ({ closes_at, opens_at, reason }) =>
      `<li>From ${time(closes_at)} to ${time(opens_at)}: ${escaped(reason)}</li>`,
  )
  return `<ul>\n${rows.join('\n')}\n</ul>`
}

function daysSection(days: readonly StatusDay[]): string {
  if (days.length === 0) return '<p>Not known while the database does not answer.</p>'
  const sum = (of: 'closed_min' | 'degraded_min' | 'unknown_min') =>
    duration(days.reduce((all, day) => all + day[of], 0))
  const cells = days.map(
    (day) =>
      `<li class="${kindOf(day)}"><span>${longDate(day.day)}: ${escaped(describeDay(day))}</span></li>`,
  )
  const legend = Object.entries(DAY_KINDS).map(([kind, text]) => `<li class="${kind}">${text}</li>`)
  return `<p>Closed for ${sum('closed_min')}, degraded for ${sum('degraded_min')}, not known for ${sum('unknown_min')}. Days begin at 00:00 UTC, and the last is today.</p>
<ol class="days">
${cells.join('\n')}
</ol>
<ul class="legend">
${legend.join('\n')}
</ul>`
}

function incidentList({ incidents }: StatusDocument): string {
  if (incidents.length === 0) return '<p>None that is known.</p>'
  return `<ol class="incidents">\n${incidents.map(incidentItem).join('\n')}\n</ol>`
}

function incidentItem(incident: Incident): string {
  const { from, until } = incident
  const when =
    until === null
      ? `since ${time(from)}, and not over`
      : `${time(from)} to ${time(until)}, ${duration(minutesBetween(from, until))}`
  return `<li><strong>${escaped(titleOf(incident))}</strong><br/>${when}</li>`
}

function footerLinks({ apiUrl }: Place): string {
  const links = [
    '<a href="status.json">This page as JSON</a>',
    '<a href="feed.xml">Feed of incidents</a>',
    ...(apiUrl === undefined
      ? []
      : [`<a href="${escaped(apiUrl)}/status">What the store itself answers</a>`]),
  ]
  return links.join(' · ')
}

const time = (at: string, withSeconds = false) =>
  `<time datetime="${at}">${withSeconds ? longTime(at).replace(/(\d\d:\d\d)/, `$1:${at.slice(17, 19)}`) : longTime(at)}</time>`
