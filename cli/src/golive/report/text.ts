import { printable } from '../../terminal/paint.ts'
import type { GoliveReport, Progress } from '../run.ts'
import type { Scenario, ScenarioResult, Verdict } from '../scenario.ts'

const MARKS: Readonly<Record<Verdict, string>> = { passed: '✓', failed: '✗', not_run: '–' }
const COLOURS: Readonly<Record<Verdict, string>> = { passed: '32', failed: '31', not_run: '33' }

export interface TextOptions {
  readonly isColoured?: boolean
  /** Whether lines can be redrawn, as on a terminal. */
  readonly isLive?: boolean
  /** Where the documentation is served; the emulator serves it. */
  readonly docsUrl?: string
}

/** One line for each scenario as it ends; on a terminal also while it runs. */
export function progressText(progress: Progress, options: TextOptions = {}): string {
  const { number, count } = progress
  const place = `${String(number).padStart(String(count).length)}/${count}`
  if (progress.kind === 'started') return options.isLive ? `  … ${place}  ${progress.title}` : ''
  const { verdict, title, duration_ms } = progress.result
  const mark = coloured(MARKS[verdict], COLOURS[verdict], options)
  const time = verdict === 'not_run' ? 'not run' : `${(duration_ms / 1000).toFixed(1)} s`
  return `${options.isLive ? '\r\x1b[2K' : ''}  ${mark} ${place}  ${title}  ${coloured(time, '2', options)}\n`
}

/** The failures with their fixes, and a summary. */
export function reportText(report: GoliveReport, options: TextOptions = {}): string {
  const failed = report.results.filter(({ verdict }) => verdict === 'failed')
  const notRun = report.results.filter(({ verdict }) => verdict === 'not_run')
  const blocks = [
    ...failed.map((result) => failureText(result, options)),
    ...(notRun.length > 0 ? [notRunText(notRun)] : []),
    summaryText(report, options),
  ]
  return `\n${blocks.join('\n\n')}\n`
}

export function listText(scenarios: readonly Scenario[]): string {
  const width = Math.max(...scenarios.map(({ id }) => id.length))
  return scenarios.map(({ id, title }) => `${id.padEnd(width)}  ${title}\n`).join('')
}

function failureText(result: ScenarioResult, options: TextOptions): string {
  return [
    coloured(`✗ ${result.id}: ${result.title}`, '1', options),
    `  what was done   ${result.does}`,
    `  what happened   ${printable(result.reason ?? '')}`,
    ...result.evidence.map((line) => `                  ${printable(line)}`),
    `  what it means   ${result.means}`,
    `  what to fix     ${result.fix}`,
    ...(options.docsUrl ? [`  read            ${options.docsUrl}/${result.docs}`] : []),
  ].join('\n')
}

function notRunText(results: readonly ScenarioResult[]): string {
  const width = Math.max(...results.map(({ id }) => id.length))
  return [
    'Not run:',
    ...results.map(({ id, reason }) => `  ${id.padEnd(width)}  ${printable(reason ?? '')}`),
  ].join('\n')
}

function summaryText(
  { passed, failed, not_run, duration_ms, ok }: GoliveReport,
  options: TextOptions,
): string {
  const counts = [`${passed} passed`, `${failed} failed`, ...(not_run > 0 ? [`${not_run} not run`] : [])]
  const text = `${counts.join(', ')} in ${(duration_ms / 1000).toFixed(1)} s`
  return coloured(text, COLOURS[ok ? 'passed' : 'failed'], options)
}

function coloured(text: string, code: string, { isColoured = false }: TextOptions): string {
  return isColoured ? `\x1b[${code}m${text}\x1b[0m` : text
}
