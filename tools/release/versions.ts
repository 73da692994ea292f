import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export const DOCKERFILE = 'deploy/image/Dockerfile'
export const CHART = 'deploy/helm/shopwire/Chart.yaml'
export const VERSION_IN_DOCKERFILE = /^ARG VERSION=(.*)$/m
/** The chart's own, and that of what it installs. */
export const VERSION_IN_CHART = /^(version|appVersion): "?([^"\n]*)"?$/gm

/** By file: every place that names the version. */
export async function versionsIn(root: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const folder of ['.', ...(await workspaces(root))])
    found.set(join(folder, 'package.json'), (await manifest(root, folder)).version)
  const dockerfile = await readFile(join(root, DOCKERFILE), 'utf8')
  found.set(DOCKERFILE, VERSION_IN_DOCKERFILE.exec(dockerfile)?.[1] ?? 'none')
  const chart = await readFile(join(root, CHART), 'utf8').catch(() => '')
  for (const [, field, version = ''] of chart.matchAll(VERSION_IN_CHART))
    found.set(`${CHART} (${field})`, version)
  return found
}

/** Throws with every place that differs. */
export function oneVersion(versions: ReadonlyMap<string, string>): string {
  const [version = ''] = versions.values()
  const others = [...versions].filter(([, one]) => one !== version)
  if (others.length === 0) return version
  throw new Error(
    `versions differ: package.json has ${version}, ${others.map(([file, one]) => `${file} has ${one}`).join(', ')}. Everything has one version: set them to the same.`,
  )
}

export async function workspaces(root: string): Promise<string[]> {
  return JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).workspaces
}

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly repository?: { readonly url?: string }
}

export async function manifest(root: string, folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'))
}
