/** Builds the JSON of Grafana dashboards from a short declaration: what is shown, and what it means. */

/** Of the account dashboard: normal is blue or grey; green, amber and red mean an outcome and nothing else. */
export const COLOURS = {
  main: '#4a66dc',
  quiet: '#8d9099',
  ok: '#1a7446',
  warn: '#b87708',
  bad: '#cf3a30',
} as const
export type Colour = keyof typeof COLOURS

export type Unit = 's' | 'reqps' | 'ops' | 'percentunit' | 'bytes' | 'short' | 'dateTimeFromNow' | 'none'

interface Series {
  readonly expr: string
  /** May use labels, such as {{route}}. */
  readonly name: string
  readonly colour?: Colour
}

interface Panel {
  readonly title: string
  /** What it says and when to act; shown at the panel's corner. */
  readonly help: string
  readonly unit: Unit
  readonly series: readonly Series[]
  /** Of 24. */
  readonly width: number
  readonly kind: 'figure' | 'lines' | 'areas'
  /** From these values on amber and red; descending when less is worse. */
  readonly warnFrom?: number
  readonly badFrom?: number
  /** A dashed line in the chart. */
  readonly limit?: number
}

export interface Section {
  readonly title: string
  readonly panels: readonly Panel[]
}

export interface Dashboard {
  readonly slug: string
  readonly title: string
  readonly about: string
  readonly sections: readonly Section[]
}

const WHOLE_WIDTH = 24
const FIGURE_HEIGHT = 4
const CHART_HEIGHT = 8
const DATASOURCE = { type: 'prometheus', uid: 'shopwire-prometheus' }
const SCHEMA_VERSION = 39

type Rest = Omit<Panel, 'title' | 'help' | 'kind' | 'series' | 'width'> & { readonly width?: number }

/** One number with its recent course. */
export const figure = (title: string, expr: string, help: string, rest: Rest): Panel => ({
  title,
  help,
  kind: 'figure',
  series: [{ expr, name: title }],
  width: 4,
  ...rest,
})

/** Values over time; `areas` are on top of each other, so that their sum can be read. */
export const lines = (title: string, series: readonly Series[], help: string, rest: Rest): Panel => ({
  title,
  help,
  kind: 'lines',
  series,
  width: 12,
  ...rest,
})
export const areas = (...args: Parameters<typeof lines>): Panel => ({ ...lines(...args), kind: 'areas' })

export const series = (name: string, expr: string, colour?: Colour): Series => ({
  name,
  expr,
  ...(colour && { colour }),
})

/** The value below which this share of what a histogram counted lies. */
export const quantile = (share: number, histogram: string, by: readonly string[] = [], selector = '') =>
  `histogram_quantile(${share}, sum by (${['le', ...by].join(', ')}) (rate(${histogram}_bucket${selector}[$__rate_interval])))`

export function dashboardText(dashboard: Dashboard, all: readonly Dashboard[]): string {
  const { slug, title, about, sections } = dashboard
  const json = {
    uid: `shopwire-${slug}`,
    title: `Shopwire: ${title}`,
    description: about,
    tags: ['shopwire'],
    schemaVersion: SCHEMA_VERSION,
    editable: false,
    refresh: '10s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'utc',
    graphTooltip: 1,
    links: all
      .filter((other) => other !== dashboard)
      .map((other) => ({
        type: 'link',
        title: other.title,
        url: `/d/shopwire-${other.slug}`,
        keepTime: true,
        includeVars: true,
      })),
    annotations: {
      list: [
        {
          name: 'Alerts',
          datasource: DATASOURCE,
          enable: true,
          iconColor: COLOURS.bad,
          expr: 'ALERTS{alertstate="firing",alertname=~"Shopwire.*",severity="page"}',
          titleFormat: '{{alertname}}',
        },
      ],
    },
    panels: layOut(sections),
  }
  // Lists of one word on one line, as the formatter of the repository writes them.
  return `${JSON.stringify(json, null, 2).replace(/\[\s+("[^"]*")\s+\]/g, '[$1]')}\n`
}

/** Places panels in rows from left to right, each row as high as its highest. */
function layOut(sections: readonly Section[]): unknown[] {
  const placed: unknown[] = []
  let y = 0
  for (const { title, panels } of sections) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: WHOLE_WIDTH, h: 1 },
      panels: [],
    })
    y += 1
    let [x, height] = [0, 0]
    for (const panel of panels) {
      if (x + panel.width > WHOLE_WIDTH) {
        y += height
        ;[x, height] = [0, 0]
      }
      const h = panel.kind === 'figure' ? FIGURE_HEIGHT : CHART_HEIGHT
      placed.push({
        id: placed.length + 1,
        ...panelJson(panel),
        gridPos: { x, y, w: panel.width, h },
      })
      x += panel.width
      height = Math.max(height, h)
    }
    y += height
  }
  return placed
}

function panelJson(panel: Panel) {
  const { title, help, unit, kind, series: shown } = panel
  const isFigure = kind === 'figure'
  return {
    type: isFigure ? 'stat' : 'timeseries',
    title,
    description: help,
    datasource: DATASOURCE,
    targets: shown.map(({ expr, name }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: name,
    })),
    fieldConfig: {
      defaults: {
        unit,
        // Nothing to count is shown as such, never as a zero that looks healthy.
        noValue: '–',
        min: unit === 'dateTimeFromNow' ? undefined : 0,
        color: isFigure ? { mode: 'thresholds' } : { mode: 'palette-classic' },
        thresholds: { mode: 'absolute', steps: steps(panel) },
        custom: isFigure ? undefined : lineStyle(panel),
      },
      overrides: shown.flatMap(({ name, colour }) =>
        colour === undefined
          ? []
          : [
              {
                matcher: { id: 'byName', options: name },
                properties: [{ id: 'color', value: { mode: 'fixed', fixedColor: COLOURS[colour] } }],
              },
            ],
      ),
    },
    options: isFigure
      ? {
          reduceOptions: { calcs: ['lastNotNull'] },
          colorMode: 'value',
          graphMode: 'area',
          textMode: 'value',
        }
      : {
          legend: {
            displayMode: 'list',
            placement: 'bottom',
            showLegend: shown.length > 1 || /\{\{/.test(shown[0]?.name ?? ''),
          },
          tooltip: { mode: 'multi', sort: 'desc' },
        },
  }
}

function steps({ warnFrom, badFrom, limit }: Panel) {
  if (limit !== undefined) {
    return [
      { color: COLOURS.main, value: null },
      { color: COLOURS.bad, value: limit },
    ]
  }
  const bounds = [
    ...(warnFrom === undefined ? [] : [{ color: COLOURS.warn, value: warnFrom }]),
    ...(badFrom === undefined ? [] : [{ color: COLOURS.bad, value: badFrom }]),
  ]
  if (warnFrom === undefined || badFrom === undefined || warnFrom <= badFrom)
    return [{ color: bounds.length > 0 ? COLOURS.ok : COLOURS.main, value: null }, ...bounds]
  // Less is worse: red from the bottom, green at the top.
  return [
    { color: COLOURS.bad, value: null },
    { color: COLOURS.warn, value: badFrom },
    { color: COLOURS.ok, value: warnFrom },
  ]
}

function lineStyle({ kind, limit }: Panel) {
  return {
    lineWidth: 1,
    fillOpacity: kind === 'areas' ? 30 : 8,
    showPoints: 'never',
    spanNulls: false,
    stacking: { mode: kind === 'areas' ? 'normal' : 'none' },
    thresholdsStyle: { mode: limit === undefined ? 'off' : 'dashed' },
  }
}
