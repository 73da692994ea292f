import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runAdmin } from '../../service/src/admin/program.ts'
import type { CommandContext } from '../../service/src/admin/terminal/command-context.ts'
import { describeMetrics } from '../../service/src/programs/metrics.ts'
import { ALERT_CASES, BUDGET_CASES } from './monitoring/alert-cases.ts'
import { KIT, ROOT, readAlerts, run, testRules } from './monitoring/promtool.ts'

/** Fires always, on purpose. */
const WATCHDOG = 'ShopwireWatchdog'
/** Fifteen seconds of one processor. */
const PLAYED_MS_MAX = 240_000

describe('the files of the monitoring kit', () => {
  test('are accepted by promtool and amtool', async () => {
    // With the rule files that it names.
    expect(await run('promtool', 'check', 'config', 'prometheus.yml')).toContain('rules/slo.yml')
    expect(await run('amtool', 'check-config', 'alertmanager.yml')).toContain('3 receivers')
  })

  test('route pages and tickets to their own receivers', async () => {
    const route = (...labels: string[]) =>
      run('amtool', 'config', 'routes', 'test', '--config.file=alertmanager.yml', ...labels)
    expect((await route('severity=page')).trim()).toBe('page')
    expect((await route('severity=ticket')).trim()).toBe('ticket')
    expect((await route('severity=none')).trim()).toBe('nobody')
  })

  test('inhibit only alerts that exist', async () => {
    const names = new Set((await readAlerts()).map(({ name }) => name))
    const text = await readFile(join(KIT, 'alertmanager.yml'), 'utf8')
    const used = [...text.matchAll(/alertname=~?"([^"]+)"/g)].flatMap(([, value = '']) => value.split('|'))
    expect(used.filter((name) => !name.includes('*') && !names.has(name))).toEqual([])
    expect(used.length).toBeGreaterThan(8)
  })
})

describe('each alert', () => {
  test('has a case that promtool plays', async () => {
    const cases = new Set([...ALERT_CASES, ...BUDGET_CASES].map(({ alert }) => alert))
    const names = [...new Set((await readAlerts()).map(({ name }) => name))]
    expect(names.filter((name) => !cases.has(name))).toEqual([WATCHDOG])
  })

  test('is silent before its fault, fires in it, and ends after it', { timeout: PLAYED_MS_MAX }, async () => {
    await testRules([...ALERT_CASES, ...BUDGET_CASES])
  })

  test('would be noticed if it did not fire, or did not end', async () => {
    const [alert, name] = ['ShopwireProcessDown', 'up{job="shopwire"}']
    await expect(testRules([{ alert, series: [{ name, good: 0, bad: 0 }] }])).rejects.toThrow('FAILED')
    await expect(testRules([{ alert, series: [{ name, good: 1, bad: 1 }] }])).rejects.toThrow('FAILED')
  })

  test('says what happened, how bad it is, and names a section that exists', async () => {
    const alerts = await readAlerts()
    expect(alerts.length).toBeGreaterThan(45)
    for (const { name, severity, annotations } of alerts) {
      const { summary, description, runbook = '' } = annotations
      expect(severity, name).toMatch(/^(page|ticket|none)$/)
      expect(
        [summary, description].every((text) => text !== undefined && text !== ''),
        name,
      ).toBe(true)
      const [path = '', anchor] = runbook.split('#')
      expect(anchor, name).toBe(name.toLowerCase())
      expect(await readFile(join(ROOT, path), 'utf8'), runbook).toMatch(new RegExp(`^### ${name}$`, 'm'))
    }
  })
})

test('how failures show: every row of the table names metrics that exist, and an alert with its runbook', async () => {
  const page = await readFile(join(ROOT, 'tests/README.md'), 'utf8')
  const [, section = ''] = page.split('| What happens | Metrics | Alert |')
  const [table = ''] = section.split('\n## ')
  const rows = [...table.matchAll(/^\| (?!---)(.*?) \| (.*?) \| (.*?) \|/gm)]
  const metrics = new Set(describeMetrics().map(({ name }) => name))
  const runbooks = new Map((await readAlerts()).map(({ name, annotations }) => [name, annotations.runbook]))
  expect(rows.length).toBeGreaterThan(12)
  for (const [, what, named = '', alert = ''] of rows) {
    const names = named.match(/shopwire_[a-z_]+/g) ?? []
    expect(names, what).not.toEqual([])
    expect(
      names.filter((name) => !metrics.has(name)),
      what,
    ).toEqual([])
    const [, name = '', link] = /\[(\w+)\]\((.*?)\)/.exec(alert) ?? []
    expect(link, what).toBe(`../${runbooks.get(name)}`)
  }
})

test('commands of shopwire-admin in the runbooks of alerts exist, with their options', async () => {
  const text = await readFile(join(ROOT, 'docs/runbooks/alerts.md'), 'utf8')
  const typed = [...text.matchAll(/shopwire-admin ((?:[a-z][a-z-]*)(?: [^`|\n]+)?)/g)]
  const commands = new Set(typed.map(([, command = '']) => command))
  expect(commands.size).toBeGreaterThan(15)
  const helpOf = async (path: string) => {
    let printed = ''
    const context = { out: (text: string) => (printed += text), err: (text: string) => (printed += text) }
    await runAdmin(context as unknown as CommandContext, [...path.split(' '), '--help'])
    return printed
  }
  for (const command of commands) {
    const words = command.split(' ')
    const path = words
      .slice(0, 2)
      .filter((word) => /^[a-z][a-z-]*$/.test(word))
      .join(' ')
    const help = await helpOf(path)
    expect(help, command).toContain(`Usage: shopwire-admin ${path}`)
    for (const [option] of command.matchAll(/--[a-z-]+(?=[ "]|$)/g)) {
      if (!/--(date|utc)$/.test(option)) expect(help, command).toContain(option)
    }
  }
})
