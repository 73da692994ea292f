import type { GoliveReport } from '../run.ts'
import type { ScenarioResult } from '../scenario.ts'

/** The JUnit XML that most build servers read. `docsUrl` is where the emulator serves the documentation. */
export function junit(report: GoliveReport, docsUrl?: string): string {
  const { results, failed, not_run, duration_ms, started_at } = report
  const counts = `tests="${results.length}" failures="${failed}" errors="0" skipped="${not_run}" time="${seconds(duration_ms)}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="shopwire golive" ${counts}>`,
    `  <testsuite name="golive" ${counts} timestamp="${started_at}">`,
    ...results.map((result) => testcase(result, docsUrl)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function testcase(result: ScenarioResult, docsUrl: string | undefined): string {
  const { id, title, verdict, duration_ms, reason } = result
  const open = `    <testcase classname="golive.${id}" name="${escaped(title)}" time="${seconds(duration_ms)}"`
  if (verdict === 'passed') return `${open}/>`
  const inside =
    verdict === 'failed'
      ? `<failure type="${id}" message="${escaped(reason ?? '')}">${escaped(details(result, docsUrl))}</failure>`
      : `<skipped message="${escaped(reason ?? '')}"/>`
  return `${open}>\n      ${inside}\n    </testcase>`
}

function details({ does, evidence, means, fix, docs }: ScenarioResult, docsUrl: string | undefined): string {
  return [does, ...evidence, means, fix, ...(docsUrl ? [`${docsUrl}/${docs}`] : [])].join('\n')
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

/** XML cannot represent most control characters. */
function escaped(text: string): string {
  return [...text]
    .map((character) => {
      const code = character.codePointAt(0) ?? 0
      const isSayable =
        (code >= 0x20 && !(code >= 0xd800 && code <= 0xdfff)) ||
        code === 0x09 ||
        code === 0x0a ||
        code === 0x0d
      return isSayable && code !== 0xfffe && code !== 0xffff ? (ENTITIES[character] ?? character) : '\ufffd'
    })
    .join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
}
