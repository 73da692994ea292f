import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** Used by build.ts and, for work on a screen, by `vite` itself with the API of a running dashboard behind it. */
export const webConfig = defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: 'dist',
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
  },
  server: {
    proxy: { '/api': process.env.SHOPWIRE_DASHBOARD_ORIGIN ?? 'http://127.0.0.1:8081' },
  },
})

export default webConfig
