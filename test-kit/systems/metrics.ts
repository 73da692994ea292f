import { until } from '../servers/index.ts'

/** One series of a process's /metrics, such as `shopwire_pools_empty`; undefined when there is none, or the process does not answer. */
export async function readMetric(healthUrl: string, series: string): Promise<number | undefined> {
  const text = await fetch(`${healthUrl}/metrics`).then(
    (response) => response.text(),
    () => '',
  )
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

/** Waits until the series is as wanted; answers with how long it took. */
export async function untilMetric(
  { healthUrl }: { healthUrl: string },
  series: string,
  isWanted: (value: number | undefined) => boolean,
  msMax: number,
): Promise<number> {
  const startedMs = performance.now()
  let last: number | undefined
  await until(
    async () => {
      last = await readMetric(healthUrl, series)
      return isWanted(last)
    },
    msMax,
    () => `${series} is ${last} after ${msMax} ms`,
  )
  return Math.round(performance.now() - startedMs)
}
