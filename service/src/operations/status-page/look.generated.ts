// Made by "npm run generate" from look/; do not edit.
export const LOOK = `/* Made by "npm run generate" from look/; do not edit. */
:root {
  color-scheme: light dark;

  --sw-canvas: light-dark(#ffffff, #101112);
  --sw-rail: light-dark(#f7f7f5, #0b0c0d);
  --sw-rail-active: light-dark(#e7e7e4, #1b1c1e);
  --sw-raised: light-dark(#ffffff, #17181a);
  --sw-sunken: light-dark(#f6f6f4, #0b0c0d);
  --sw-hover: light-dark(#f7f7f5, #1c1e21);
  --sw-line: light-dark(#e8e7e3, #242628);
  --sw-line-strong: light-dark(#d3d2cc, #383b3f);
  --sw-ink: light-dark(#17181a, #ededeb);
  --sw-ink-2: light-dark(#515359, #b0b2b6);
  --sw-ink-3: light-dark(#686a70, #8f9298);
  --sw-accent: light-dark(#2f4fd0, #93a8ff);
  --sw-accent-soft: light-dark(#eff2fd, #181d33);
  --sw-ok: light-dark(#1a7446, #5fc48c);
  --sw-ok-soft: light-dark(#e9f5ee, #11261b);
  --sw-warn: light-dark(#8a5600, #e3b24e);
  --sw-warn-soft: light-dark(#fcf4e2, #2a2211);
  --sw-bad: light-dark(#b3261e, #ff8f80);
  --sw-bad-soft: light-dark(#fdeeec, #331816);
  --sw-chart-main: light-dark(#4a66dc, #6f88f2);
  --sw-chart-quiet: light-dark(#8d9099, #72767f);
  --sw-chart-warn: light-dark(#b87708, #e3b24e);
  --sw-chart-bad: light-dark(#cf3a30, #ff8f80);
  --sw-chart-grid: light-dark(#efeeea, #1e2022);
  --sw-qr-ground: #ffffff;
  --sw-qr-ink: #000000;
  --sw-veil: light-dark(rgb(23 24 26 / 32%), rgb(0 0 0 / 56%));

  --sw-text-tick: 11px;
  --sw-text-meta: 12px;
  --sw-text-body: 13px;
  --sw-text-section: 14px;
  --sw-text-lead: 16px;
  --sw-text-title: 22px;
  --sw-text-figure: 26px;
  --sw-text-balance: 32px;

  --sw-font-words: 'Inter Variable', system-ui, sans-serif;
  --sw-font-code: 'Geist Mono Variable', ui-monospace, monospace;
}
`
export const MARK = {
  box: 22,
  radius: 5.5,
  wire: 'M5.5 14.2c3.4 0 4.2-1 5.5-3.2s2.1-3.2 5.5-3.2',
  strokeWidth: 2,
} as const
