import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Group, Outcome } from './check.ts'

export interface Section {
  /** What was checked, such as a base address or a kind of store. */
  readonly name: string
  readonly outcomes: readonly Outcome[]
  readonly seconds: number
}

export interface Totals {
  readonly checks: number
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export function totalsOf(outcomes: readonly Outcome[]): Totals {
  const count = (result: Outcome['result']) => outcomes.filter((outcome) => outcome.result === result).length
  return {
    checks: outcomes.length,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
  }
}

/** For a terminal: one line per group, then what failed and what was skipped, with the reasons. */
export function asText({ name, outcomes, seconds }: Section, groups: readonly Group[]): string {
  const lines = [`\n${name}`]
  for (const group of groups) {
    const own = outcomes.filter(({ check }) => check.group === group.name)
    if (own.length === 0) continue
    const { passed, failed, skipped } = totalsOf(own)
    const skippedText = skipped > 0 ? `  ${skipped} skipped` : ''
    lines.push(
      `  ${failed > 0 ? 'FAILED' : 'ok    '}  ${group.title.padEnd(30)} ${String(passed).padStart(3)} passed${failed > 0 ? `  ${failed} failed` : ''}${skippedText}`,
    )
  }
  for (const { check, message } of outcomes.filter(({ result }) => result === 'failed')) {
    lines.push(
      `  FAILED ${check.id}: ${check.title}`,
      `         ${message}`,
      `         proves ${check.proves.join(', ')}`,
    )
  }
  for (const [why, count] of skips(outcomes)) lines.push(`  SKIPPED ${count} checks: ${why}`)
  const { checks, passed, failed, skipped } = totalsOf(outcomes)
  lines.push(
    `  ${checks} checks: ${passed} passed, ${failed} failed, ${skipped} skipped, in ${seconds.toFixed(1)} s`,
  )
  return `${lines.join('\n')}\n`
}

function skips(outcomes: readonly Outcome[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const { result, message } of outcomes) {
    if (result === 'skipped') counts.set(message, (counts.get(message) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1])
}

export function writeReports(folder: string, sections: readonly Section[], groups: readonly Group[]): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'conformance.xml'), asJunit(sections, groups))
  writeFileSync(join(folder, 'conformance.html'), asHtml(sections, groups))
}

export function asJunit(sections: readonly Section[], groups: readonly Group[]): string {
  const suites = sections.flatMap(({ name, outcomes }) =>
    groups.flatMap((group) => {
      const own = outcomes.filter(({ check }) => check.group === group.name)
      if (own.length === 0) return []
      const { checks, failed, skipped } = totalsOf(own)
      const cases = own.map((outcome) => `    ${junitCase(outcome)}`)
      const head = `name="${escaped(`${name} / ${group.title}`)}" tests="${checks}" failures="${failed}" skipped="${skipped}"`
      return [`  <testsuite ${head}>`, ...cases, '  </testsuite>']
    }),
  )
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>', ''].join('\n')
}

function junitCase({ check, result, ms, message }: Outcome): string {
  const head = `<testcase classname="${escaped(check.group)}" name="${escaped(`${check.id}: ${check.title}`)}" time="${(ms / 1000).toFixed(3)}"`
  if (result === 'passed') return `${head}/>`
  const tag = result === 'failed' ? 'failure' : 'skipped'
  return `${head}><${tag} message="${escaped(message)}"/></testcase>`
}

/** One file that needs nothing else, to be opened, mailed or kept. */
export function asHtml(sections: readonly Section[], groups: readonly Group[]): string {
  const body = sections.map((section) => {
    const { checks, passed, failed, skipped } = totalsOf(section.outcomes)
    const parts = groups.map((group) => htmlGroup(group, section.outcomes))
    const summary = `${checks} checks: ${passed} passed, <b class="${failed > 0 ? 'failed' : ''}">${failed} failed</b>, ${skipped} skipped, in ${section.seconds.toFixed(1)} s`
    return `<h2>${escaped(section.name)}</h2><p>${summary}</p>${parts.join('')}`
  })
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Conformance</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${STYLE}</style>
<h1>Conformance</h1>
${body.join('\n')}
</html>
`
}

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .2rem 0 }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 1rem }
td { padding: .2rem .6rem .2rem 0; vertical-align: top; border-top: 1px solid #8884 }
td:first-child { width: 5rem } small { opacity: .7 }
.passed { color: #17803d } .failed { color: #c62828 } .skipped { opacity: .6 }
`

function htmlGroup(group: Group, outcomes: readonly Outcome[]): string {
  const own = outcomes.filter(({ check }) => check.group === group.name)
  if (own.length === 0) return ''
  const { checks, passed, failed, skipped } = totalsOf(own)
  const rows = own.map(
    ({ check, result, message }) =>
      `<tr><td class="${result}">${result}</td><td>${escaped(check.title)}${message === '' ? '' : `<br>${escaped(message)}`}<br><small>${escaped(`${check.id} · proves ${check.proves.join(', ')}`)}</small></td></tr>`,
  )
  const state = failed > 0 ? `<b class="failed">${failed} failed</b>` : `${passed} of ${checks} passed`
  return `<details${failed > 0 ? ' open' : ''}><summary>${escaped(group.title)}: ${state}${skipped > 0 ? `, ${skipped} skipped` : ''}</summary><table>${rows.join('')}</table></details>`
}

function escaped(text: string): string {
  const named: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  // Control characters are not allowed in XML, not even escaped.
  return text
    .replace(/[&<>"]/g, (c) => named[c] ?? c)
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
}
