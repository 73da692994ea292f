/**
 * The style sheet of the status page, after the variables of look/. A day differs from another in its height or its border too, not in its
 * colour alone.
 */
export const RULES = `
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; background: var(--sw-canvas); color: var(--sw-ink); font: var(--sw-text-section)/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main, footer { max-width: 760px; margin: 0 auto; padding: 24px 16px; }
footer { border-top: 1px solid var(--sw-line); color: var(--sw-ink-2); font-size: var(--sw-text-body); }
h1 { display: flex; align-items: center; gap: 8px; margin: 0 0 16px; font-size: var(--sw-text-lead); line-height: 1.3; }
h1 svg { flex: none; width: 22px; height: 22px; }
h1 rect { fill: var(--sw-ink); }
h1 path { fill: none; stroke: var(--sw-canvas); stroke-linecap: round; }
h2 { margin: 32px 0 8px; font-size: var(--sw-text-section); }
p { margin: 8px 0; }
a { color: var(--sw-accent); }
a:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
time { font-variant-numeric: tabular-nums; }
.headline { padding: 12px 16px; border: 1px solid currentColor; border-radius: 8px; font-size: var(--sw-text-lead); line-height: 1.5; }
.headline.well { color: var(--sw-ok); background: var(--sw-ok-soft); }
.headline.degraded { color: var(--sw-warn); background: var(--sw-warn-soft); }
.headline.closed { color: var(--sw-bad); background: var(--sw-bad-soft); }
.written { color: var(--sw-ink-2); font-size: var(--sw-text-body); }
.parts { margin: 0; border-top: 1px solid var(--sw-line); }
.parts div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 16px; padding: 8px 0; border-bottom: 1px solid var(--sw-line); }
.parts dd { margin: 0; }
.parts .up dd { color: var(--sw-ok); }
.parts .degraded dd { color: var(--sw-warn); }
.parts .unavailable dd, .parts .closed dd { color: var(--sw-bad); }
.parts .unknown dd { color: var(--sw-ink-3); }
.days { position: relative; display: flex; align-items: end; gap: 1px; height: 64px; margin: 12px 0 0; padding: 0 0 24px; list-style: none; }
.days li { flex: 1 1 0; min-width: 0; overflow: hidden; forced-color-adjust: none; }
.days span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.days li:hover span { left: 0; bottom: 0; width: auto; height: auto; clip-path: none; white-space: normal; font-size: var(--sw-text-body); }
ul { margin: 8px 0; padding-left: 20px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0; padding: 0; list-style: none; color: var(--sw-ink-2); font-size: var(--sw-text-body); }
.legend li::before { content: ''; display: inline-block; width: 8px; margin-right: 6px; vertical-align: middle; forced-color-adjust: none; }
.days .well, .legend .well::before { height: 14px; background: var(--sw-ok); }
.days .degraded, .legend .degraded::before { height: 26px; background: var(--sw-warn); }
.days .closed, .legend .closed::before { height: 40px; background: var(--sw-bad); }
.days .unknown, .legend .unknown::before { height: 14px; border: solid var(--sw-ink-3); border-width: 1px 0; }
.legend .degraded::before { height: 14px; }
.legend .closed::before { height: 18px; }
.incidents { margin: 0; padding: 0; list-style: none; }
.incidents li { padding: 8px 0; border-bottom: 1px solid var(--sw-line); }
`
