import { readFileSync } from 'node:fs'

/** In the folder of a built site: what it was made from. */
export const BUILT_FROM = '.built-from.json'
export interface BuiltFrom {
  readonly packages: readonly string[]
}

/** The npm packages that modules come from, as `name@version`, sorted. Modules of our own have none. */
export function packagesOf(moduleIds: Iterable<string>): string[] {
  const folders = new Set<string>()
  for (const id of moduleIds) {
    // Bundlers put a zero byte before ids that they made up, and a query behind some.
    const [, folder] = /^\0?(\/.*\/node_modules\/(?:@[^/]+\/)?[^/?]+)\//.exec(id) ?? []
    if (folder !== undefined) folders.add(folder)
  }
  return [...new Set([...folders].flatMap(nameOf))].sort()
}

/** A plugin for rolldown and tsdown, and the modules that it saw in the result. */
export function rememberModules() {
  const modules = new Set<string>()
  const plugin = {
    name: 'remember-modules',
    generateBundle(_: unknown, files: Record<string, { type: string; moduleIds?: readonly string[] }>) {
      for (const { moduleIds = [] } of Object.values(files)) for (const id of moduleIds) modules.add(id)
    },
  }
  return { modules, plugin }
}

/** None for a folder that is not a package, such as a cache of the bundler. */
function nameOf(folder: string): string[] {
  if (/\/\.[^/]*$/.test(folder)) return []
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  return [`${name}@${version}`]
}
