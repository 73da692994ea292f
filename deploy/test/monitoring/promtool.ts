import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { AlertCase } from './alert-cases.ts'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
export const KIT = join(ROOT, 'deploy/monitoring')

const GOOD_MIN = 5
const FAULT_MIN = 3
const CLEAR_MIN = 7
const SAMPLE_S = 10

async function ruleFiles(): Promise<string[]> {
  return (await readdir(join(KIT, 'rules'))).filter((name) => name.endsWith('.yml')).sort()
}

export interface Alert {
  readonly name: string
  readonly file: string
  readonly severity: string
  readonly annotations: Readonly<Record<string, string>>
}

/** The alerts of all rule files, read from their text: the files are regular, and a parser would be one more dependency. */
export async function readAlerts(): Promise<Alert[]> {
  const all: Alert[] = []
  for (const file of await ruleFiles()) {
    const [, ...blocks] = (await readFile(join(KIT, 'rules', file), 'utf8')).split(
      /^ {6}- (?:alert|record): /m,
    )
    for (const block of blocks) {
      const [name = ''] = block.split('\n')
      if (!/^ {8}annotations:$/m.test(block)) continue
      const annotations = Object.fromEntries(
        [...block.matchAll(/^ {10}(\w+): (.*)$/gm)].map(([, key, value]) => [key, value]),
      )
      const [, severity = ''] = /severity: (\w+)/.exec(block) ?? []
      all.push({ name, file, severity, annotations })
    }
  }
  return all
}

export async function run(command: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd: KIT }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${command} ${args.join(' ')}:\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout
}

/** Has promtool play all cases: each alert is silent before its fault, fires in it, and is silent after it. */
export async function testRules(cases: readonly AlertCase[]): Promise<void> {
  const alerts = await readAlerts()
  const fileOf = (alert: string) => alerts.find(({ name }) => name === alert)?.file ?? ''
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-rules-'))
  try {
    // Only the alerts that are played: promtool evaluates every rule that it is given for every case.
    const groups = Map.groupBy(cases, ({ alert, sampleS }) => `${fileOf(alert)} ${sampleS ?? SAMPLE_S}`)
    for (const [group, own] of groups) {
      const [name = '', seconds] = group.split(' ')
      const [file, rules] = [join(folder, 'cases.json'), join(folder, 'rules.yml')]
      const played = new Set(own.map(({ alert }) => alert))
      const blocks = (await readFile(join(KIT, 'rules', name), 'utf8')).split(
        /^(?= {6}- (?:alert|record): )/m,
      )
      const kept = blocks.filter((block) => {
        const [, alert] = /^ {6}- alert: (\w+)/.exec(block) ?? []
        return alert === undefined || played.has(alert)
      })
      await writeFile(rules, kept.join(''))
      // JSON is YAML.
      const content = {
        rule_files: [rules],
        evaluation_interval: `${seconds}s`,
        tests: own.map(caseOf),
      }
      await writeFile(file, JSON.stringify(content))
      await run('promtool', 'test', 'rules', file)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function caseOf({
  alert,
  series,
  faultMin = FAULT_MIN,
  clearMin = CLEAR_MIN,
  goodMin = GOOD_MIN,
  isSilent = false,
  sampleS = SAMPLE_S,
  window = '',
}: AlertCase) {
  const [good, fault, clear] = [goodMin, faultMin, clearMin].map((min) => (min * 60) / sampleS) as [
    number,
    number,
    number,
  ]
  const firing = (minutes: number, count: number) => ({
    expr: `count(count by (alertname) (ALERTS{alertname="${alert}",window="${window}",alertstate="firing"}))`,
    eval_time: `${minutes * 60 - sampleS}s`,
    exp_samples: count === 0 ? [] : [{ labels: '{}', value: count }],
  })
  return {
    name: alert,
    interval: `${sampleS}s`,
    input_series: series.map((each) =>
      'counter' in each
        ? { series: each.counter, values: steps(each, good, fault, clear) }
        : {
            series: each.name,
            // "ax3" are four samples, "_x4" are four that are missing.
            values: `${each.good}x${good - 1} ${each.bad}x${each.bad === '_' ? fault : fault - 1} ${each.good}x${clear}`,
          },
    ),
    promql_expr_test: [
      firing(goodMin, 0),
      firing(goodMin + faultMin, isSilent ? 0 : 1),
      firing(goodMin + faultMin + clearMin, 0),
    ],
  }
}

function steps(
  { from = 0, good, bad }: { from?: number; good: number; bad: number },
  goodCount: number,
  badCount: number,
  clearCount: number,
): string {
  const afterGood = from + good * (goodCount - 1)
  const afterBad = afterGood + bad * badCount
  const course = (start: number, step: number, count: number) =>
    `${start}${step < 0 ? '-' : '+'}${Math.abs(step)}x${count}`
  return [
    course(from, good, goodCount - 1),
    course(afterGood + bad, bad, badCount - 1),
    course(afterBad + good, good, clearCount),
  ].join(' ')
}
