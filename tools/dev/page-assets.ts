export const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0; }
nav { display: flex; gap: 24px; padding: 12px 32px; border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
nav a { color: inherit; text-decoration: none; }
nav a[aria-current] { font-weight: 600; text-decoration: underline; text-underline-offset: 6px; }
main { max-width: 860px; padding: 24px 32px 64px; }
h1 { font-size: 22px; margin: 0 0 16px; }
h2 { font-size: 16px; margin: 24px 0 4px; }
ul { padding-left: 20px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 8px 16px 8px 0; vertical-align: top; border-bottom: 1px solid color-mix(in srgb, currentColor 12%, transparent); }
th { font-weight: 400; }
th, .meta { font-size: 13px; opacity: .75; }
.meta { margin: 0 0 8px; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
.code { white-space: nowrap; font-size: 16px; letter-spacing: .1em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; padding: 12px 16px; border-radius: 8px; background: color-mix(in srgb, currentColor 6%, transparent); }
article { padding-bottom: 16px; border-bottom: 1px solid color-mix(in srgb, currentColor 12%, transparent); }
iframe { box-sizing: border-box; width: 100%; height: 480px; border: 1px solid color-mix(in srgb, currentColor 12%, transparent); border-radius: 8px; }
summary { cursor: pointer; }
button { font: inherit; white-space: nowrap; padding: 4px 14px; border-radius: 6px; border: 1px solid currentColor; background: none; color: inherit; cursor: pointer; }
.ok { color: light-dark(#1a7446, #5fc48c); font-size: 13px; }
.bad { color: light-dark(#b3261e, #ff8f80); font-size: 13px; }
`

/** New mail, new events, and every half minute new codes. Nothing is reloaded while a text is selected or a body is open. */
export const LIVE_SCRIPT = `
const isReading = () => String(getSelection()) !== '' || document.querySelector('details[open]') !== null
const reload = () => { if (!isReading()) location.reload() }
new EventSource('/changes').onmessage = reload
if (location.pathname === '/') setTimeout(reload, 30_000 - (Date.now() % 30_000) + 200)
`
