import type { Metric } from '@prometheus-io/client'

/** One series of a histogram. Keeping a reference to it makes observing cheap. */
export interface Timer {
  observe(seconds: number): void
}

interface Series extends Timer {
  readonly labels: Readonly<Record<string, string>>
  readonly counts: number[]
  sum: number
}

/**
 * A histogram for a Prometheus registry. The library's own builds a key from the labels and checks their names on every
 * observation: 0.95 µs of processor time instead of 0.02 to 0.04, also with `labels()` kept; every signed request has three of them.
 * That of node:perf_hooks (0.055 µs) has neither our bounds nor a sum, so the histograms of several processes could not be added up.
 */
export class Durations<Label extends string = string> {
  readonly type = 'histogram'
  readonly aggregator = 'sum'
  readonly name: string
  readonly help: string
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, Series>()

  constructor({ name, help, buckets }: { name: string; help: string; buckets: readonly number[] }) {
    this.name = name
    this.help = help
    this.#bounds = buckets
  }

  /** The series with these labels, exposed from now on. Call it once and keep the result. */
  labels(labels: Readonly<Record<Label, string>>): Timer {
    const key = JSON.stringify(Object.entries(labels).sort())
    let series = this.#series.get(key)
    if (!series) {
      series = seriesOf(labels, this.#bounds)
      this.#series.set(key, series)
    }
    return series
  }

  /** In the form the registry expects. */
  asMetric(): Metric {
    return this as unknown as Metric
  }

  async get() {
    return {
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: this.aggregator,
      values: [...this.#series.values()].flatMap((series) => this.#exposed(series)),
    }
  }

  #exposed({ labels, counts, sum }: Series) {
    let count = 0
    const buckets = [...this.#bounds, '+Inf'].map((le, n) => {
      count += counts[n] ?? 0
      return { metricName: `${this.name}_bucket`, labels: { le: String(le), ...labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ]
  }
}

function seriesOf(labels: Readonly<Record<string, string>>, bounds: readonly number[]): Series {
  const counts = new Array<number>(bounds.length + 1).fill(0)
  const series: Series = {
    labels,
    counts,
    sum: 0,
    observe(seconds) {
      let n = 0
      while (n < bounds.length && seconds > (bounds[n] as number)) n += 1
      counts[n] = (counts[n] as number) + 1
      series.sum += seconds
    },
  }
  return series
}
