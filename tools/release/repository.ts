import type { Manifest } from './versions.ts'

/**
 * Where Shopwire is hosted: the field `repository` of the root's package.json, which packages, docs and workflows take it from. It is not set until
 * it is known. npm compares it with where a package was built, so a wrong one is refused here, not at the last step. `hostedAt` is
 * `owner/name` in a workflow.
 */
export function requireRepository(
  { repository }: Manifest,
  hostedAt = process.env.GITHUB_REPOSITORY,
): string {
  const url = repository?.url
  if (!url)
    throw new Error(
      'package.json does not say where this is hosted. Set it once that is known: npm pkg set repository.type=git repository.url=git+https://<host>/<owner>/<name>.git. Until then only --dry-run works.',
    )
  if (hostedAt !== undefined && !url.replace(/\.git$/, '').endsWith(`/${hostedAt}`))
    throw new Error(`package.json says that this is hosted at ${url}, and this workflow runs in ${hostedAt}.`)
  return url
}
