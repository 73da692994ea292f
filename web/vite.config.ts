import { join } from 'node:path'
import { media } from '@shopwire/look'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The chunk that every screen needs besides the first files; build.ts makes the page load it early. */
export const SHARED = 'shared'

/** What only screens with a form need: keys, settings, signing in. */
const FORMS = /@mantine\/form|PasswordInput|uqr|apps\/dashboard\/session|act-form/

/** What only screens with items need. */
const ITEMS = /item-art/

/** What only lists have that can be filtered and selected. */
const LISTS = /apps\/dashboard\/lists|lists\/selection|strings\/views/

/** `@media (--phone)`: breakpoints are named in style sheets, and are numbers in look/ alone. */
const breakpoints: Plugin = {
  name: 'named-breakpoints',
  enforce: 'pre',
  transform: (code, id) =>
    /\.css($|\?)/.test(id)
      ? code.replace(/(?<=@media[^{]*)\(--(\w+)\)/g, (_, name: string) => {
          const query = (media as Readonly<Record<string, string>>)[name]
          if (query === undefined) throw new Error(`${id}: look/breakpoints.ts has no "${name}"`)
          return query
        })
      : undefined,
}

/** Where the built files of an application are. */
export const distOf = (app: string): string => join(import.meta.dirname, 'dist', app)

/** Used by build.ts and, for work on a screen, by `vite` itself with the API of a running dashboard behind it. */
export const webConfig = (app: string) =>
  defineConfig({
    root: join(import.meta.dirname, 'apps', app),
    plugins: [breakpoints, react()],
    build: {
      outDir: distOf(app),
      emptyOutDir: true,
      // A data: URI would need an exception in the policy.
      assetsInlineLimit: 0,
      // Every browser that has passkeys, Trusted Types or not, has these too.
      target: 'es2023',
      modulePreload: { polyfill: false },
      manifest: true,
      reportCompressedSize: false,
      // build.ts has a budget of its own, for what is loaded first.
      chunkSizeWarningLimit: 1_000,
      // Left to itself, the bundler makes a file of whatever two screens share: forty requests before the first rows.
      rolldownOptions: {
        output: {
          codeSplitting: {
            groups: [
              // Apart from our own code, so that a browser keeps it over a new release. Not styles: theirs must come after our layers.
              {
                name: 'libraries',
                tags: ['$initial'],
                test: /node_modules.*\.m?js$/,
                priority: 3,
              },
              { name: 'index', tags: ['$initial'], priority: 2 },
              // What more than one screen uses. A screen itself, and the charts, stay files of their own.
              {
                name: SHARED,
                test: (id) => !FORMS.test(id) && !ITEMS.test(id) && !LISTS.test(id),
                minShareCount: 2,
                priority: 1,
              },
              { name: 'forms', test: FORMS, minShareCount: 2 },
              { name: 'items', test: ITEMS, minShareCount: 2 },
              { name: 'lists', test: LISTS, minShareCount: 2 },
            ],
          },
        },
      },
    },
    server: {
      proxy: { '/api': process.env.SHOPWIRE_DASHBOARD_ORIGIN ?? 'http://127.0.0.1:8081' },
    },
  })

export default webConfig('dashboard')
