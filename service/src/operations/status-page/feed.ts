import type { Incident, PlannedClosing, StatusDocument } from './document.ts'
import type { Place } from './html.ts'
import { escaped, longTime, MEANWHILE, PART_NAMES, titleOf } from './words.ts'

const ENTRIES_MAX = 30

/** Atom: an entry for each incident and each planned closing. An entry is updated when its incident ends. */
export function statusFeed(status: StatusDocument, { host, apiUrl }: Place): string {
  const id = `${apiUrl ?? 'https://store.invalid'}/status`
  const entries = [...status.planned.map(plannedEntry), ...status.incidents.map(incidentEntry)]
    .toSorted((a, b) => (a.updated < b.updated ? 1 : -1))
    .slice(0, ENTRIES_MAX)
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>${escaped(id)}</id>
<title>Status of ${escaped(host ?? 'the store')}</title>
<subtitle>Written ${longTime(status.written_at)}, and every minute.</subtitle>
<updated>${entries[0]?.updated ?? status.written_at}</updated>
<author><name>${escaped(host ?? 'The store')}</name></author>
<link rel="self" type="application/atom+xml" href="feed.xml"/>
<link rel="alternate" type="text/html" href="index.html"/>
${entries.map((entry) => entryXml(id, entry)).join('\n')}
</feed>
`
}

interface Entry {
  readonly name: string
  readonly title: string
  readonly updated: string
  readonly text: string
}

const plannedEntry = ({ closes_at, opens_at, reason, planned_at }: PlannedClosing): Entry => ({
  name: `planned-${planned_at}`,
  title: `Planned closing: ${reason}`,
  updated: planned_at,
  text: `Closed from ${longTime(closes_at)} to ${longTime(opens_at)}. ${MEANWHILE.planned}`,
})

function incidentEntry(incident: Incident): Entry {
  const { kind, from, until, parts } = incident
  const when = until === null ? `Since ${longTime(from)}.` : `From ${longTime(from)} to ${longTime(until)}.`
  const meanwhile = kind === 'degraded' ? parts.map((part) => PART_NAMES[part]).join(', ') : MEANWHILE[kind]
  return {
    name: `incident-${from}`,
    title: titleOf(incident),
    updated: until ?? from,
    text: `${when} ${meanwhile}`,
  }
}

const entryXml = (feedId: string, { name, title, updated, text }: Entry) => `<entry>
<id>${escaped(feedId)}#${name}</id>
<title>${escaped(title)}</title>
<updated>${updated}</updated>
<link rel="alternate" type="text/html" href="index.html"/>
<content type="text">${escaped(text)}</content>
</entry>`
