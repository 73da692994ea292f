import { routes } from '@shopwire/contract'

/** What is promised to callers: of all events of the last 30 days, at most this share may be bad. */
interface Objective {
  readonly name: string
  /** Of its alert. */
  readonly alert: string
  readonly budget: number
  readonly says: string
  readonly burning: string
  /** Expressions of a window such as "5m". */
  bad(window: string): string
  all(window: string): string
}

const API = `route=~"${routes.map(({ name }) => name).join('|')}"`
const rate = (series: string, window: string) => `sum(rate(${series}[${window}]))`
/** Those that took longer than a bucket's limit. */
const slower = (histogram: string, seconds: number, window: string) =>
  `${rate(`${histogram}_count`, window)} - ${rate(`${histogram}_bucket{le="${seconds}"}`, window)}`

export const OBJECTIVES: readonly Objective[] = [
  {
    name: 'api-availability',
    alert: 'ShopwireApiBudgetBurning',
    budget: 0.001,
    says: '99.9 % of the requests to the API are answered with something else than 5xx',
    burning: 'requests to the API are answered with 5xx',
    bad: (window) => rate(`http_server_request_duration_seconds_count{status=~"5..",${API}}`, window),
    all: (window) => rate(`http_server_request_duration_seconds_count{${API}}`, window),
  },
  {
    name: 'order-delivery',
    alert: 'ShopwireDeliveryBudgetBurning',
    budget: 0.01,
    says: '99 % of the orders that a worker delivers are delivered within 60 s',
    burning: 'orders take longer than 60 s from paid to delivered',
    bad: (window) => slower('shopwire_order_delivery_seconds', 60, window),
    all: (window) => rate('shopwire_order_delivery_seconds_count', window),
  },
  {
    name: 'webhook-delay',
    alert: 'ShopwireWebhookBudgetBurning',
    budget: 0.01,
    says: '99 % of the events have their first attempt within 5 s',
    burning: 'events wait longer than 5 s for their first attempt',
    bad: (window) => slower('shopwire_webhook_first_attempt_delay_seconds', 5, window),
    all: (window) => rate('shopwire_webhook_first_attempt_delay_seconds_count', window),
  },
]

/**
 * Multi-window burn rates as in the SRE workbook, chapter 5: a rate of 1 uses up exactly the budget of 30 days. The long window decides that
 * it is serious, the short one that it still goes on, so that the alert ends soon after the repair.
 */
export const BURNS = [
  { rate: 14.4, long: '1h', short: '5m', severity: 'page', spent: '2 % of the budget in an hour' },
  { rate: 6, long: '6h', short: '30m', severity: 'page', spent: '5 % of the budget in six hours' },
  { rate: 3, long: '1d', short: '2h', severity: 'ticket', spent: '10 % of the budget in a day' },
  { rate: 1, long: '3d', short: '6h', severity: 'ticket', spent: '10 % of the budget in three days' },
] as const
const WINDOWS = ['5m', '30m', '1h', '2h', '6h', '1d', '3d', '30d']
/** One failed request of twenty on a quiet night is no reason to wake anybody. */
const BAD_MIN = 10
const SECONDS: Readonly<Record<string, number>> = { '1h': 3_600, '6h': 21_600, '1d': 86_400, '3d': 259_200 }

export const ratioOf = (name: string, window: string) => `shopwire:slo_bad:ratio_rate${window}{slo="${name}"}`

/** deploy/monitoring/rules/slo.yml */
export function sloRulesText(): string {
  return [
    '# Made by "npm run generate" from tools/monitoring/slo.ts; do not edit.',
    '# Three objectives over 30 days, each with burn-rate alerts in four pairs of windows.',
    'groups:',
    ...OBJECTIVES.flatMap((objective) => [
      `  - name: shopwire-slo-${objective.name}`,
      '    rules:',
      `      # ${objective.says}.`,
      ...WINDOWS.flatMap((window) => recording(objective, window)),
      ...BURNS.flatMap((burn) => alert(objective, burn)),
    ]),
  ].join('\n')
}

function recording({ name, bad, all }: Objective, window: string): string[] {
  return [
    `      - record: shopwire:slo_bad:ratio_rate${window}`,
    `        expr: (${bad(window)}) / (${all(window)})`,
    `        labels: { slo: ${name} }`,
    '',
  ]
}

function alert(
  { name, alert: alertName, budget, bad, burning }: Objective,
  { rate: burn, long, short, severity, spent }: (typeof BURNS)[number],
): string[] {
  const limit = `${burn} * ${budget}`
  return [
    `      - alert: ${alertName}`,
    '        expr: >-',
    `          ${ratioOf(name, long)} > ${limit}`,
    `          and ${ratioOf(name, short)} > ${limit}`,
    `          and on () ${SECONDS[long]} * (${bad(long)}) >= ${BAD_MIN}`,
    '        for: 20s',
    `        labels: { severity: ${severity}, slo: ${name}, window: ${long} }`,
    '        annotations:',
    `          summary: The error budget burns ${burn} times too fast`,
    '          description: >-',
    `            {{ $value | humanizePercentage }} of the last ${long}: ${burning}. At this pace ${spent} are spent.`,
    `          runbook: docs/runbooks/alerts.md#${alertName.toLowerCase()}`,
    '',
  ]
}
